/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics of each CPU, without the names of who wanted it. */
#ifndef CPU_METRICS_H
#define CPU_METRICS_H

#include "base/exposition.h"
#include "proc/holder.h"
#include "proc/limit.h"
#include "proc/proc.h"

struct cpu_metrics {
	const struct proc_sample *sample;
	const struct limits *limits;
	const struct holders *holders;
	bool names;	/* those of the isolated threads too */
};

void cpu_metrics_put(struct exposition *to, const struct cpu_metrics *state);

#endif

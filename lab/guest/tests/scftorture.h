/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A module whose thread calls all CPUs over and over, and waits for few of the calls. */
#ifndef LAB_SCFTORTURE_H
#define LAB_SCFTORTURE_H

#include "../test.h"

/* Runs it until a call has waited for the isolated @w until its deadline. */
static inline void scftorture_begin(const struct worker *w)
{
	if (system("modprobe scftorture weight_all=1 nthreads=1 stutter=0 stat_interval=0"))
		bail_out("no module scftorture");
	until(w->missed);
}

#endif

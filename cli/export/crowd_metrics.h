/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics of callbacks and of senders. */
#ifndef CROWD_METRICS_H
#define CROWD_METRICS_H

#include "base/exposition.h"
#include "export/crowd.h"

void crowd_metrics_callbacks(struct exposition *to, const struct crowd *crowd);
void crowd_metrics_senders(struct exposition *to, const struct crowd *crowd);

/* What a count says of requests, for a HELP: "..., by what became of them". */
extern const char *const crowd_metrics_about[COUNTS];

#endif

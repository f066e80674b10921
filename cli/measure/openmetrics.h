/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A result as OpenMetrics text, for Prometheus and those that read what it reads. */
#ifndef OPENMETRICS_H
#define OPENMETRICS_H

#include <stdio.h>

#include "sampling/result.h"

/*
 * The last part: of each series a histogram with the buckets that have a count, the
 * maximum with the time when it was, and the account.
 */
void openmetrics_write(FILE *out, const struct result *result);

#endif

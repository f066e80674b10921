/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does the trace tell what happens, at the time at which it happens? */
#ifndef PROBE_H
#define PROBE_H

struct attribute;

/*
 * Leaves a mark on each measured CPU and finds it again, between two looks at
 * CLOCK_MONOTONIC.  0, or -1 with fs.why; a CPU that cannot be visited is noted only.
 */
int probe(struct attribute *attribute);

#endif

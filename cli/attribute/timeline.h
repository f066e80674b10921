/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time of an outlier, shared out: each moment belongs to the innermost of what the
 * kernel was about then.  What is left is the hardware's, or nobody's.
 */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "attribute/below.h"
#include "attribute/survey.h"

struct timeline {
	struct trace_store *stores;
	size_t count;
	const struct trace_readers *readers;
	struct names *names;
	struct below *below;
	struct survey survey;
};

/*
 * Adds its causes to @finding, whose outlier is filled in, and returns how many events
 * were overwritten in its time that no outlier before had missed.
 */
uint64_t timeline_share(struct timeline *timeline, struct finding *finding);

#endif

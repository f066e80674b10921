/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writers see of an attribution. */
#ifndef ATTRIBUTE_PARTS_H
#define ATTRIBUTE_PARTS_H

#include "attribute/attribute.h"
#include "attribute/timeline.h"
#include "attribute/tracefs.h"

struct attribute {
	struct attribute_options options;
	struct cpulist cpus, others;
	struct tracefs fs;
	bool recorded;
	struct trace_readers readers;
	struct names names;
	struct below below;
	struct timeline timeline;
	struct ranking ranking;
	size_t ring_bytes;
	uint64_t seen, looked, lost;
};

#endif

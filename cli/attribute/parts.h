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

/* The keys "causes" and "excesses". */
void ranking_json(struct json *json, const struct ranking *ranking);

/* For people: the ranked causes, and the @most worst excesses. */
void ranking_text(FILE *out, const struct ranking *ranking, size_t most, bool colours);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* What a start achieved, for callers of any version. */
#include <string.h>

#include "internal.h"

void isolator_give_result(struct isolator_result *result,
			  const struct isolator_start_args *arguments)
{
	struct isolator_result full = {
		.achieved = arguments->achieved,
		.got = arguments->got,
		.cpu = arguments->cpu,
		.depth = arguments->depth,
		.deadline_ns = arguments->deadline_ns,
		.spin_ns = arguments->spin_ns,
		.yield_ns = arguments->yield_ns,
		.batch_ns = arguments->batch_ns,
	};
	size_t size = result->size < sizeof(full) ? result->size : sizeof(full);

	full.size = result->size;
	memcpy(result, &full, size);
}

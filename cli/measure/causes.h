/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks for the causes of outliers while others measure: a thread beside them empties the
 * rings and asks the kernel's trace (attribute/attribute.h).
 */
#ifndef CAUSES_H
#define CAUSES_H

#include <stdio.h>

#include "sampling/sampler.h"

/*
 * Traces from now on, and looks during the parts that @sampler runs from now on.  The
 * @worst outliers are kept.  If it cannot be had @result says why, and the measure goes on without.
 */
void causes_open(struct sampler *sampler, struct result *result, uint64_t threshold_ns,
		 size_t worst);

/*
 * Ends tracing; what was found is told later.  False: there was none.  Parts that @sampler
 * runs from now on are not looked at.
 */
bool causes_end(struct sampler *sampler);

/* What the same measure had without, in @count parts, and with; told with the causes. */
void causes_overhead(const struct part *off, size_t count, const struct part *on);

void causes_text(FILE *out, bool colours);

/* Ends tracing, and what was found is gone.  False, said why: not all is as it was. */
bool causes_close(void);

#endif

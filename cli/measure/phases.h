/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The phases of a run: with a load a quiet part and a loaded one, each as long as was asked
 * for; where causes are looked for, a part without that before, to know what it costs.
 */
#ifndef PHASES_H
#define PHASES_H

#include <stdio.h>

#include "sampling/sampler.h"

struct phases {
	const char *load;		/* NULL: none */
	struct cpulist load_cpus;
	uint64_t why_ns;		/* the causes of values above; 0: of none */
	size_t worst;			/* of these, how many are kept */
};

/*
 * What is to be there before threads are and before memory is locked.  0; 1: it cannot be
 * had here, @result says so; or -1, said why.  phases_close() is to follow.
 */
int phases_open(const struct phases *phases, const struct order *order, struct result *result);

/* As sampler_run(), of all parts. */
int phases_run(const struct phases *phases, struct sampler *sampler, struct result *result);

/* For people: how much larger the loaded part's values are, and causes. */
void phases_text(FILE *out, const struct result *result, bool colours);

/* After the result was written. */
bool phases_close(void);

#endif

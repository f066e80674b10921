/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A result for people: how it was measured, percentiles, a histogram, what it comes to. */
#ifndef PICTURE_H
#define PICTURE_H

#include <stdio.h>

#include "sampling/result.h"

/* @what is measured, as "timed wake-ups"; @title of the quantity, as "latency". */
struct picture {
	const struct result *result;
	const char *what;
	bool colours;
	/* Before limits and verdict, once it is over; NULL: nothing. */
	void (*more)(FILE *out, const struct result *result, bool colours);
};

void picture_draw(FILE *out, const struct picture *picture);

#endif

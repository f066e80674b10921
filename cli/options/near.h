/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name that somebody may have meant who typed another one. */
#ifndef NEAR_H
#define NEAR_H

struct near {
	const char *typed;
	const char *best;	/* NULL: none is near */
	unsigned int distance;	/* of the best */
};

/* Compares one more name with what was typed. */
void near_add(struct near *near, const char *name);

#endif

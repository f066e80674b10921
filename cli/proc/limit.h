/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an administrator lets a start ask for: /proc/isolator/limits. */
#ifndef LIMIT_H
#define LIMIT_H

#include <stdint.h>

struct limits {
	char *text;		/* what the words point into; NULL: it cannot be read */
	int error;		/* why */
	uint64_t deadline_ns, spin_ns;
	const char *perf, *msr;	/* refuse or queue */
};

/* 0, also if it cannot be read, or -1 with nothing to free: it is damaged, said where. */
int limits_read(const char *directory, struct limits *limits);

void limits_free(struct limits *limits);

#endif

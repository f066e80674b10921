/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the command and the library that it preloads agree upon; not installed. */
#ifndef ISOLATOR_PRELOAD_H
#define ISOLATOR_PRELOAD_H

#include <stdint.h>

/* "DEVICE COUNTS": descriptors of /dev/isolator, and of memory for these counts. */
#define PRELOAD_VARIABLE "ISOLATOR_PRELOAD"

struct preload_counts {
	uint64_t loaded;	/* 1: the library is there, and was given both */
	uint64_t ticks;		/* those that it has made, of all threads */
	uint64_t starts;	/* threads isolated since the exec: each looks for its page then */
};

#endif

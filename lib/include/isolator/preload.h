/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the command and the library that it preloads agree upon; not installed. */
#ifndef ISOLATOR_PRELOAD_H
#define ISOLATOR_PRELOAD_H

#include <stdint.h>

/* "DEVICE COUNTS": descriptors of /dev/isolator, and of memory for these counts. */
#define PRELOAD_VARIABLE "ISOLATOR_PRELOAD"

/*
 * The memory's size, and its seals, by which the library knows it: a program may have the numbers
 * of both for other files by then.  The magic number is no file's by chance.
 */
#define PRELOAD_BYTES 4096
#define PRELOAD_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define PRELOAD_MAGIC UINT64_C(0x746e75636f736900)

struct preload_counts {
	uint64_t loaded;	/* 1: the library is there, and was given both */
	uint64_t ticks;		/* those that it has made, of all threads */
	uint64_t starts;	/* threads isolated since the exec: each looks for its page then */
	uint64_t magic;		/* the command's */
};

#endif

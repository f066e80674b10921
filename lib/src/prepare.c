// SPDX-License-Identifier: LGPL-2.1-or-later
/* Memory that is there before it is needed: locked, and the stack touched. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define STACK_DEFAULT	(64U * 1024)
/* What stays untouched above the end of a stack: for the calls made here. */
#define STACK_MARGIN	(16U * 1024)

/* How much of the stack below the caller may be touched; 0 when not known. */
static size_t stack_left(void)
{
	pthread_attr_t attributes;
	void *low;
	size_t size;
	size_t left = 0;

	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return 0;
	if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
		size_t here = (size_t)((char *)__builtin_frame_address(0) - (char *)low);

		if (here <= size && here > STACK_MARGIN)
			left = here - STACK_MARGIN;
	}
	pthread_attr_destroy(&attributes);
	return left;
}

/* Not inlined, so that its frame is gone, and its pages are there, at return. */
static __attribute__((noinline)) void touch_stack(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *room = __builtin_alloca(bytes);

	for (size_t at = 0; at < bytes; at += page)
		room[at] = 0;
	room[bytes - 1] = 0;
}

int isolator_prepare(const struct isolator_options *options)
{
	size_t wanted = options->stack_bytes ? options->stack_bytes : STACK_DEFAULT;

	if (!(options->flags & ISOLATOR_OPT_NO_MLOCK) &&
	    isolator_sys.mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		return isolator_failed(STEP_LOCK, errno);
	if (!(options->flags & ISOLATOR_OPT_NO_PREFAULT)) {
		size_t left = stack_left();

		/* The caller asked for more than there is: say so, do not crash. */
		if (wanted > left && options->stack_bytes)
			return isolator_failed(STEP_OPTIONS, ENOMEM);
		if (wanted > left)
			wanted = left;
		if (wanted)
			touch_stack(wanted);
	}
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of libisolator share; nothing here is exported. */
#ifndef ISOLATOR_INTERNAL_H
#define ISOLATOR_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#include "isolator.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))

/* The system calls of starts and of pools; tests put a fake device and failures here. */
struct isolator_sys {
	int (*open)(const char *path, int flags);
	int (*close)(int fd);
	int (*ioctl)(int fd, unsigned long request, void *argument);
	void *(*mmap)(void *address, size_t length, int protection, int flags,
		      int fd, off_t offset);
	int (*munmap)(void *address, size_t length);
	int (*mlockall)(int flags);
	int (*mlock)(const void *address, size_t length);
	int (*madvise)(void *address, size_t length, int advice);
	long (*mbind)(void *address, size_t length, int node);
	long (*move_pages)(unsigned long count, void **pages, int *status);
};

extern HIDDEN struct isolator_sys isolator_sys;

static inline size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Do options of a later version, of @size bytes, ask for nothing behind the @known ones? */
static inline bool options_end(const void *options, size_t known, size_t size)
{
	const unsigned char *bytes = options;

	for (size_t at = known; at < size; at++)
		if (bytes[at])
			return false;
	return true;
}

/* The step that failed: the same errno means another thing at each. */
enum isolator_step {
	STEP_NONE,
	STEP_OPTIONS,
	STEP_LOCK,
	STEP_OPEN,
	STEP_START,
	STEP_MAP,
	STEP_PAGE_OLDER,	/* than this library: the kernel's page */
	STEP_PAGE_NEWER,
	STEP_TICK,
	STEP_STOP,
	STEP_TASK_OPTIONS,
	STEP_START_TASK,
	STEP_STOP_TASK,
	STEP_POOL,
	STEP_ALLOC,
	STEP_FREE,
	STEP_TOPOLOGY,
	STEP_CREATE,
	STEP_SIDE,
	STEP_INBOX,
	STEP_CLOSE,
	STEP_REGISTER,
	STEP_STATS,
	STEP_POST,
	STEP_POLL,
};

/* Remember for isolator_strerror() that @step failed; returns -@error. */
HIDDEN int isolator_failed(enum isolator_step step, int error);

/* Fill @result, as far as its caller's version goes. */
HIDDEN void isolator_give_result(struct isolator_result *result,
				 const struct isolator_start_args *arguments);

/* The calling thread's descriptor of the device; -1 before a start. */
HIDDEN int isolator_descriptor(void);

/* Lock the process's memory and touch the stack, unless @options say no. */
HIDDEN int isolator_prepare(const struct isolator_options *options);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* The isolation of another thread.  Nothing of it is kept here: it is the thread's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>

#include "internal.h"

#define DEVICE		"/dev/isolator"
/* The first version's size: a smaller one was never initialised. */
#define OPTIONS_FIRST	sizeof(struct isolator_task_options)

/* A bigger structure is that of a newer caller: fine while it asks for nothing new. */
static int check_options(const struct isolator_task_options *options)
{
	if (options->size < OPTIONS_FIRST)
		return isolator_failed(STEP_TASK_OPTIONS, EINVAL);
	if (!options_end(options, sizeof(*options), options->size))
		return isolator_failed(STEP_TASK_OPTIONS, E2BIG);
	return 0;
}

/* One request to the device; 0 or the errno, remembered as one of @step. */
static int ask(enum isolator_step step, unsigned long request,
	       struct isolator_task_args *arguments)
{
	int fd = isolator_sys.open(DEVICE, O_RDWR | O_CLOEXEC);
	int error;

	if (fd < 0)
		return isolator_failed(STEP_OPEN, errno);
	error = isolator_sys.ioctl(fd, request, arguments) < 0 ? errno : 0;
	isolator_sys.close(fd);
	return error ? isolator_failed(step, error) : 0;
}

EXPORT int isolator_start_task(pid_t tid, const struct isolator_task_options *options,
			       struct isolator_result *result)
{
	const struct isolator_task_options usual = ISOLATOR_TASK_OPTIONS_INIT;
	struct isolator_task_args arguments = { .size = sizeof(arguments), .tid = tid };
	int error;

	if (!options)
		options = &usual;
	error = check_options(options);
	if (error)
		return error;
	arguments.flags = options->flags;
	arguments.start = (struct isolator_start_args){
		.size = sizeof(arguments.start),
		.mask = options->mask,
		.flags = options->start_flags,
		.deadline_ns = options->deadline_ns,
		.spin_ns = options->spin_ns,
		.yield_ns = options->yield_ns,
		.batch_ns = options->batch_ns,
	};
	error = ask(STEP_START_TASK, ISOLATOR_IOC_START_TASK, &arguments);
	if (error)
		return error;
	/* Without the wait nothing is known yet. */
	if (!(options->flags & ISOLATOR_TASK_WAIT))
		return 0;
	if (result)
		isolator_give_result(result, &arguments.start);
	return (int)arguments.start.achieved;
}

EXPORT int isolator_stop_task(pid_t tid)
{
	struct isolator_task_args arguments = { .size = sizeof(arguments), .tid = tid };

	return ask(STEP_STOP_TASK, ISOLATOR_IOC_STOP_TASK, &arguments);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kernel with Isolator below another root, linked with --wrap=device_start and
 * --wrap=device_stop.  Each request is a line at the end of the file dev/isolator; a
 * start that succeeds is shown in proc/isolator/status, for CPU 3, and a stop ends it.
 * $ARM, $START and $STOP are errnos: that of a start at an exec, of one now, of a stop.
 * With $START the start at the exec fails as well, and no one learns of it.  A start lasts as long
 * as somebody has the FIFO $HOLD open for writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/wait.h"
#include "proc/device.h"

int __wrap_device_start(int fd, struct isolator_task_args *args);
int __wrap_device_stop(int fd, pid_t tid);

static int ordered(const char *variable)
{
	const char *text = getenv(variable);

	return text ? atoi(text) : 0;
}

static void hold(void)
{
	const char *path = getenv("HOLD");
	int fifo = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char byte;

	while (fifo >= 0 && read(fifo, &byte, 1) > 0)
		;
	if (fifo >= 0)
		close(fifo);
}

/* The file @name of proc/isolator beside the device. */
static FILE *open_proc(int fd, const char *name)
{
	char link[64], path[PATH_MAX] = { 0 }, file[PATH_MAX + 64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		abort();
	*strstr(path, DEVICE_PATH) = '\0';
	snprintf(file, sizeof(file), "%s/proc/isolator/%s", path, name);
	return fopen(file, "w");
}

static void show(int fd, const struct isolator_start_args *start, const char *end)
{
	static uint64_t started;
	FILE *status = open_proc(fd, "status");

	if (!status)
		abort();
	if (start)
		started = wait_clock_ns();
	fprintf(status, "version 1\nallowed 3\nisolated %s\n", end ? "" : "3");
	if (end)
		fprintf(status, "cpu 3 ended %s started_ns %" PRIu64 "\n", end, started);
	else
		fprintf(status, "cpu 3 isolated mask %#x got 0x7f depth 1 deadline_ns %" PRIu64
			" spin_ns 100000000 yield_ns %" PRIu64
			" batch_ns 0 auto_tick 1 owner 1 user 1 started_ns %" PRIu64 "\n",
			start->mask, (uint64_t)(start->deadline_ns ? start->deadline_ns : 1000000000),
			(uint64_t)start->yield_ns, started);
	fclose(status);
}

int __wrap_device_start(int fd, struct isolator_task_args *args)
{
	const struct isolator_start_args *start = &args->start;
	int at_exec = args->flags & ISOLATOR_TASK_EXEC, error = ordered(at_exec ? "ARM" : "START");

	lseek(fd, 0, SEEK_END);
	dprintf(fd, "start %d %u mask %u flags %u deadline %" PRIu64 " spin %" PRIu64
		" yield %" PRIu64 " batch %" PRIu64 "\n", args->tid, args->flags, start->mask, start->flags,
		(uint64_t)start->deadline_ns, (uint64_t)start->spin_ns, (uint64_t)start->yield_ns,
		(uint64_t)start->batch_ns);
	hold();
	if (args->size != sizeof(*args) || start->size != sizeof(*start))
		return EINVAL;
	if (error)
		return error;
	if (!at_exec || !ordered("START"))
		show(fd, start, NULL);
	if (at_exec)
		return 0;
	args->start.achieved = start->mask;
	args->start.got = 0x7f;
	if (!start->deadline_ns)
		args->start.deadline_ns = 1000000000;
	if (!start->spin_ns)
		args->start.spin_ns = 100000000;
	return 0;
}

int __wrap_device_stop(int fd, pid_t tid)
{
	int error = ordered("STOP");

	lseek(fd, 0, SEEK_END);
	dprintf(fd, "stop %d\n", tid);
	if (!error)
		show(fd, NULL, "admin");
	return error;
}

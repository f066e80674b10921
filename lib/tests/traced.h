/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A child that goes on by one instruction at a time. */
#ifndef TRACED_H
#define TRACED_H

#include <sys/ptrace.h>
#include "check.h"

/* Some containers forbid it. */
static bool traced_allowed(void)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0);
	return waitpid(child, &status, 0) == child && status == 0;
}

/* Run @body in a child, up to its raise(SIGSTOP); it must not return. */
static pid_t traced_start(void (*body)(void *), void *argument)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(1);
		body(argument);
	}
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
		printf("# the child did not come to its call\n");
		exit(1);
	}
	return child;
}

static void traced_step(pid_t child)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) < 0 ||
	    waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
	    WSTOPSIG(status) != SIGTRAP) {
		printf("# a step failed: %s\n", strerror(errno));
		exit(1);
	}
}

#endif

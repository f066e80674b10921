/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A child that goes on by one instruction at a time. */
#ifndef TRACED_H
#define TRACED_H

#include <sys/ptrace.h>
#include "check.h"

/* Of each child: all of them take as long as others want the CPU. */
#define CHILD_PATIENCE_S	120

/* Where a child is that counts the instructions of one call; it says so in shared memory. */
enum phase { BEFORE, INSIDE, AFTER };

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

/* Run @body in a child, which stops @steps instructions into its call, or when that is over. */
static inline pid_t traced_into(void (*body)(void *), void *argument, volatile enum phase *phase,
				unsigned int steps)
{
	pid_t child;

	alarm(CHILD_PATIENCE_S);
	*phase = BEFORE;
	child = traced_start(body, argument);
	while (*phase == BEFORE)
		traced_step(child);
	for (unsigned int i = 0; i < steps && *phase == INSIDE; i++)
		traced_step(child);
	return child;
}

/* The same, and kill it there. */
static inline void traced_kill(void (*body)(void *), void *argument, volatile enum phase *phase,
			       unsigned int steps)
{
	pid_t child = traced_into(body, argument, phase, steps);

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

#endif

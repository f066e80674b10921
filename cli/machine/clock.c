// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "machine/clock.h"

/* No clock's own. */
#define REFUSED EHOSTDOWN

enum answer { ANSWER_USER_MODE, ANSWER_CALL, ANSWER_UNKNOWN };

/* Reads it where the system call for it fails. */
static enum answer read_without_call(clockid_t clock)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | REFUSED),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = ARRAY_SIZE(steps), .filter = steps };
	struct timespec now;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return ANSWER_UNKNOWN;
	if (!clock_gettime(clock, &now))
		return ANSWER_USER_MODE;
	return errno == REFUSED ? ANSWER_CALL : ANSWER_UNKNOWN;
}

int clock_in_user_mode(clockid_t clock)
{
	struct timespec now;
	pid_t child;
	int status;

	/* The system call for it, which tells what is no clock, fails below for all. */
	if (clock_gettime(clock, &now))
		return -1;
	child = fork();
	if (!child)
		_exit((int)read_without_call(clock));
	if (child < 0)
		return -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	if (!WIFEXITED(status) || WEXITSTATUS(status) == ANSWER_UNKNOWN)
		return -1;
	return WEXITSTATUS(status) == ANSWER_USER_MODE;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: user-seccomp
 * row: 5, 12
 * class: defer
 * kind: program
 * notick: no
 * user: yes
 * about: an unprivileged user's children install system call filters and end
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include "trigger.h"

enum { CHILDREN = 8 };

/* Exits with 0 when getppid() is refused as the filter says. */
static void child(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(*code), .filter = code };

	if (syscall(SYS_getppid) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(1);
	_exit(syscall(SYS_getppid) != -1 || errno != EXDEV);
}

int main(void)
{
	int filtered = 0, status;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		need(pid >= 0);
		if (!pid)
			child();
		need(waitpid(pid, &status, 0) == pid);
		filtered += !status;
	}
	answer(filtered == CHILDREN, "done", "%d of %d children had a system call filtered",
	       filtered, CHILDREN);
}

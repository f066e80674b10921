// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: hwpoison
 * row: 38
 * class: quiesce
 * kind: program
 * notick: no
 * about: memory of the trigger's own child fails, and the child is killed when it looks
 */
#include <sys/resource.h>
#include "trigger.h"

/* Each costs the guest a page for good. */
enum { ROUNDS = 2, PAGE = 4096 };

/* Ends by SIGBUS, or exits with the errno of what failed. */
static void child(void)
{
	volatile char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rlimit no_core = { 0, 0 };

	if (p == MAP_FAILED || setrlimit(RLIMIT_CORE, &no_core))
		_exit(errno);
	p[0] = 1;
	if (madvise((void *)p, PAGE, MADV_HWPOISON))
		_exit(errno);
	_exit(p[0] ? 0 : EIO);
}

int main(void)
{
	int killed = 0, status = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();

		need(pid >= 0);
		if (!pid)
			child();
		need(waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == EINVAL)
			answer(false, "done", "missing: MADV_HWPOISON");
		killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
	}
	answer(killed == ROUNDS, "done", "%d of %d children ended by SIGBUS, the last by 0x%x",
	       killed, ROUNDS, status);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: user-netns
 * row: 67, 80, 10
 * class: exclude
 * kind: program
 * notick: no
 * user: yes
 * in: check
 * about: an unprivileged user makes network namespaces, one after the other ended
 */
#include "trigger.h"

enum { ROUNDS = 3, WAITS = 1000 };

/* One network namespace at a time: the next says whether the last is gone. */
static void limit(void)
{
	int fd = open("/proc/sys/user/max_net_namespaces", O_WRONLY);

	need(fd >= 0 && write(fd, "1", 1) == 1);
	close(fd);
}

/* Exits with 0 in a network namespace that is not the parent's. */
static void child(const struct stat *parents)
{
	struct stat own;

	for (int wait = 0; unshare(CLONE_NEWNET); wait++) {
		if (errno != ENOSPC || wait == WAITS)
			_exit(1);
		usleep(2000);
	}
	_exit(stat("/proc/self/ns/net", &own) || own.st_ino == parents->st_ino);
}

int main(void)
{
	int made = 0, status;
	struct stat own;

	need(!unshare(CLONE_NEWUSER));
	limit();
	need(!stat("/proc/self/ns/net", &own));
	/* One more than ROUNDS: it waits for the end of the last. */
	for (int i = 0; i < ROUNDS + 1; i++) {
		pid_t pid = fork();

		need(pid >= 0);
		if (!pid)
			child(&own);
		need(waitpid(pid, &status, 0) == pid);
		made += !status;
	}
	answer(made == ROUNDS + 1, "done", "%d of %d namespaces, each after the other's end",
	       made, ROUNDS + 1);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: rcu-sync
 * row: 67, 65
 * class: exclude
 * kind: program
 * notick: yes
 * in: run
 * about: grace periods are waited for: mounts
 */
#include <sys/mount.h>
#include "trigger.h"

enum { ROUNDS = 3 };

int main(void)
{
	const char *dir = "/tmp/lab-mount";
	int done = 0;
	struct stat up, here;

	for (int i = 0; i < ROUNDS; i++) {
		mkdir(dir, 0700);
		need(!mount("lab", dir, "tmpfs", 0, NULL));
		need(!stat(dir, &here) && !stat("/tmp", &up));
		done += here.st_dev != up.st_dev;
		need(!umount(dir));
		need(!stat(dir, &here));
		done += here.st_dev == up.st_dev;
	}
	rmdir(dir);
	answer(done == 2 * ROUNDS, "done", "%d of %d steps", done, 2 * ROUNDS);
}

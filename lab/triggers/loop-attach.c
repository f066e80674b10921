// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: loop-attach
 * row: 33
 * class: quiesce
 * kind: program
 * notick: yes
 * in: run
 * about: a loop device is attached, written, flushed and detached
 */
#include <linux/fs.h>
#include <linux/loop.h>
#include "trigger.h"

enum { ROUNDS = 3, SIZE = 1 << 20 };

int main(void)
{
	char name[] = "/tmp/lab-loop-XXXXXX", device[64], buf[4096], back[4096];
	int file = mkstemp(name), control, seen = 0;

	control = open("/dev/loop-control", O_RDWR);
	if (control < 0)
		answer(false, "done", "missing: /dev/loop-control");
	need(file >= 0 && !ftruncate(file, SIZE));
	for (int i = 0; i < ROUNDS; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE), loop;

		need(number >= 0);
		snprintf(device, sizeof(device), "/dev/loop%d", number);
		loop = open(device, O_RDWR);
		need(loop >= 0);
		need(!ioctl(loop, LOOP_SET_FD, file));
		memset(buf, 'a' + i, sizeof(buf));
		need(pwrite(loop, buf, sizeof(buf), 8192) == sizeof(buf));
		need(!fsync(loop) && !ioctl(loop, BLKFLSBUF, 0));
		need(pread(file, back, sizeof(back), 8192) == sizeof(back));
		seen += !memcmp(buf, back, sizeof(buf));
		need(!ioctl(loop, LOOP_CLR_FD, 0));
		close(loop);
	}
	unlink(name);
	answer(seen == ROUNDS, "done", "%d of %d writes reached the file", seen, ROUNDS);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-msync
 * row: 95
 * class: queue
 * kind: self
 * notick: no
 * about: a file on disk that the task's process has mapped is written back: its page is protected
 */
#include "selftrigger.h"

#define IMAGE	"/tmp/lab-msync"
#define DISK	"/tmp/lab-msync.d"
#define QUIET	" >/dev/null 2>&1"

enum { ROUNDS = 3 };

/* Written through the mapping, synchronised, read through the file. */
static int write_back(volatile char *p, int fd)
{
	int seen = 0;
	char back;

	for (int i = 0; i < ROUNDS; i++) {
		p[0] = (char)('a' + i);
		if (msync((void *)p, 4096, MS_SYNC) || pread(fd, &back, 1, 0) != 1)
			break;
		seen += back == 'a' + i;
	}
	return seen;
}

static void run(struct self_answer *answer)
{
	volatile char *p = MAP_FAILED;
	int fd = -1, seen = 0;

	if (system("dd if=/dev/zero of=" IMAGE " bs=64k count=16" QUIET
		   " && mke2fs -F " IMAGE QUIET " && mkdir " DISK
		   " && loop=$(losetup -f) && losetup $loop " IMAGE
		   " && mount -t ext2 $loop " DISK) == 0)
		fd = open(DISK "/file", O_RDWR | O_CREAT, 0600);
	if (fd >= 0 && !ftruncate(fd, 4096))
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		seen = write_back(p, fd);
		munmap((void *)p, 4096);
	}
	if (fd >= 0)
		close(fd);
	self_say(answer, seen == ROUNDS, "%d of %d writes reached the file (%s)", seen, ROUNDS,
		 seen == ROUNDS ? "done" : strerror(errno));
	if (system("loop=$(losetup -a | sed -n 's|:.*" IMAGE "$||p'); umount " DISK
		   " && losetup -d $loop && rmdir " DISK " && rm " IMAGE))
		self_say(answer, false, "the file system did not go");
}

SELF_TRIGGER(sibling_msync, "sibling-msync", run);

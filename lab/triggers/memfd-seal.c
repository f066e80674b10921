// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: memfd-seal
 * row: 28
 * class: quiesce
 * kind: program
 * notick: no
 * user: yes
 * about: an unprivileged user seals memory that a pipe still holds: every CPU's batches are drained
 */
#include <sys/uio.h>
#include "trigger.h"

enum { ROUNDS = 2, PAGE = 4096 };

int main(void)
{
	int busy = 0, sealed = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int fd = memfd_create("lab", MFD_ALLOW_SEALING), pipes[2];
		struct iovec page = { .iov_len = PAGE };
		char text[PAGE];

		need(fd >= 0 && !ftruncate(fd, PAGE) && !pipe(pipes));
		page.iov_base = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		need(page.iov_base != MAP_FAILED);
		memset(page.iov_base, 'a' + i, PAGE);
		need(vmsplice(pipes[1], &page, 1, 0) == PAGE);
		need(!munmap(page.iov_base, PAGE));
		/* The kernel drains, waits for the pipe's hold to go, and gives up. */
		busy += fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) && errno == EBUSY;
		need(read(pipes[0], text, PAGE) == PAGE && text[0] == 'a' + i);
		need(!fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
		sealed += write(fd, "x", 1) < 0 && errno == EPERM;
		close(fd);
		close(pipes[0]);
		close(pipes[1]);
	}
	answer(busy == ROUNDS && sealed == ROUNDS, "done",
	       "%d busy while held, %d sealed, of %d", busy, sealed, ROUNDS);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: bpf-load
 * row: 5, 10, 12
 * class: defer
 * kind: program
 * notick: yes
 * in: run
 * about: BPF programs are loaded, compiled, run on a socket and freed
 */
#include <sys/socket.h>
#include "bpf.h"
#include "trigger.h"

enum { ROUNDS = 8 };

int main(void)
{
	int cut = 0, pair[2];
	char buf[16];

	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		int fd = bpf_filter_load(i);

		need(fd >= 0);
		need(!setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_BPF, &fd, sizeof(fd)));
		need(send(pair[0], "0123456789abcdef", 16, 0) == 16);
		cut += recv(pair[1], buf, sizeof(buf), MSG_DONTWAIT) == (ssize_t)i;
		need(!setsockopt(pair[1], SOL_SOCKET, SO_DETACH_BPF, &fd, sizeof(fd)));
		close(fd);
	}
	answer(cut == ROUNDS, "done", "%d of %d programs cut a message", cut, ROUNDS);
}

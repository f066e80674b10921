// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: user-cbpf
 * row: 5, 12
 * class: defer
 * kind: program
 * notick: no
 * user: yes
 * about: an unprivileged user attaches classic packet filters to a socket, which compiles them
 */
#include <linux/filter.h>
#include <sys/socket.h>
#include "trigger.h"

enum { ROUNDS = 8 };

int main(void)
{
	/* Messages that begin with 'k' are kept, others dropped. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'k', 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(*code), .filter = code };
	int filtered = 0, open = 0, none = 0, pair[2];
	char got[8] = "";

	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	for (int i = 0; i < ROUNDS; i++) {
		need(!setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_FILTER, &filter,
				 sizeof(filter)));
		need(send(pair[0], "drop", 4, 0) == 4);
		need(send(pair[0], "keep", 4, 0) == 4);
		filtered += recv(pair[1], got, sizeof(got), MSG_DONTWAIT) == 4 &&
			    got[0] == 'k';
		need(!setsockopt(pair[1], SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none)));
		need(send(pair[0], "drop", 4, 0) == 4);
		open += recv(pair[1], got, sizeof(got), MSG_DONTWAIT) == 4 && got[0] == 'd';
	}
	answer(filtered == ROUNDS && open == ROUNDS, "done",
	       "%d filters dropped the right message, %d gone, of %d", filtered, open, ROUNDS);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: bpf-xdp
 * row: 5
 * class: defer
 * kind: program
 * notick: no
 * about: XDP programs are run by the kernel, whose dispatcher is patched for each
 */
#include "bpfrun.h"
#include "trigger.h"

/* A single run does not go into the dispatcher, several do. */
enum { ROUNDS = 3, REPEAT = 4 };

int main(void)
{
	static const int actions[] = { XDP_DROP, XDP_PASS, XDP_TX };
	int right = 0, runs = 0;

	for (int i = 0; i < ROUNDS; i++)
		for (size_t a = 0; a < sizeof(actions) / sizeof(*actions); a++) {
			int prog = bpf_load_return(BPF_PROG_TYPE_XDP, actions[a]);

			need(prog >= 0);
			right += bpf_run(prog, REPEAT) == actions[a];
			runs++;
			close(prog);
		}
	answer(right == runs, "done", "%d of %d runs returned what they should", right, runs);
}

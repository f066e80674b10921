// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: xdp-attach
 * row: 1, 5
 * class: defer
 * kind: program
 * notick: no
 * about: a generic XDP program is put on the loopback device, drops a message, and goes
 */
#include <linux/if_link.h>
#include "bpfrun.h"
#include "loopback.h"
#include "trigger.h"

enum { ROUNDS = 3 };

int main(void)
{
	int dropped = 0, passed = 0, prog, link;
	struct loopback lo;

	need(!loopback_open(&lo));
	prog = bpf_load_return(BPF_PROG_TYPE_XDP, XDP_DROP);
	need(prog >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		link = bpf_attach(prog, LOOPBACK_INDEX, BPF_XDP, XDP_FLAGS_SKB_MODE);
		need(link >= 0);
		dropped += !loopback_passes(&lo);
		close(link);
		passed += loopback_passes(&lo);
	}
	loopback_close(&lo);
	answer(dropped == ROUNDS && passed == ROUNDS, "done",
	       "%d messages dropped, %d passed, of %d", dropped, passed, ROUNDS);
}

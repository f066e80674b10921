// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: bpf-tcx
 * row: 1
 * class: defer
 * kind: program
 * notick: no
 * about: a BPF program is put on the loopback device's input, drops a message, and goes
 */
#include <linux/pkt_cls.h>
#include "bpfrun.h"
#include "loopback.h"
#include "trigger.h"

enum { ROUNDS = 3, TCX_INGRESS = 46 };	/* not in this system's headers yet */

int main(void)
{
	int dropped = 0, passed = 0, prog, link;
	struct loopback lo;

	need(!loopback_open(&lo));
	prog = bpf_load_return(BPF_PROG_TYPE_SCHED_CLS, TC_ACT_SHOT);
	need(prog >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		link = bpf_attach(prog, LOOPBACK_INDEX, TCX_INGRESS, 0);
		need(link >= 0);
		dropped += !loopback_passes(&lo);
		close(link);
		passed += loopback_passes(&lo);
	}
	loopback_close(&lo);
	answer(dropped == ROUNDS && passed == ROUNDS, "done",
	       "%d messages dropped, %d passed, of %d", dropped, passed, ROUNDS);
}

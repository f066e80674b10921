// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: bpf-tailcall
 * row: 5
 * class: defer
 * kind: program
 * notick: no
 * about: the programs that a BPF program jumps to are exchanged: its text is patched each time
 */
#include "bpfrun.h"
#include "trigger.h"

enum { ROUNDS = 3, NO_JUMP = 1000 };

static int prog_array(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_PROG_ARRAY;
	attr.key_size = attr.value_size = sizeof(int);
	attr.max_entries = 1;
	return bpf_ask(BPF_MAP_CREATE, &attr);
}

/* Entry 0 becomes prog; -1: none. */
static void set_target(int map, int prog)
{
	union bpf_attr attr;
	int key = 0;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)&key;
	if (prog < 0) {
		need(!bpf_ask(BPF_MAP_DELETE_ELEM, &attr));
		return;
	}
	attr.value = (uintptr_t)&prog;
	need(!bpf_ask(BPF_MAP_UPDATE_ELEM, &attr));
}

int main(void)
{
	int map = prog_array(), caller, jumped = 0, stayed = 0;

	need(map >= 0);
	/* A constant index: the jump is in the text, not looked up. */
	struct bpf_insn code[] = {
		BPF_SET_MAP(BPF_REG_2, map),
		BPF_SET(BPF_REG_3, 0),
		BPF_CALL_HELPER(BPF_FUNC_tail_call),
		BPF_SET(BPF_REG_0, NO_JUMP),
		BPF_END_PROGRAM,
	};

	caller = bpf_load(BPF_PROG_TYPE_SOCKET_FILTER, code, sizeof(code));
	need(caller >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		/* From none to one, from one to another, from that to none. */
		for (int value = 1; value <= 2; value++) {
			int target = bpf_load_return(BPF_PROG_TYPE_SOCKET_FILTER, value);

			need(target >= 0);
			set_target(map, target);
			jumped += bpf_run(caller, 1) == value;
			close(target);
		}
		set_target(map, -1);
		stayed += bpf_run(caller, 1) == NO_JUMP;
	}
	answer(jumped == 2 * ROUNDS && stayed == ROUNDS, "done",
	       "%d of %d jumps, %d of %d without", jumped, 2 * ROUNDS, stayed, ROUNDS);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: bpf-rawtp
 * row: 5, 7
 * class: defer
 * kind: program
 * notick: no
 * about: a BPF program is attached to every system call's entry, counts, and is detached
 */
#include "bpfcount.h"

enum { ROUNDS = 3, CALLS = 20 };

int main(void)
{
	int map = bpf_counter_create(), prog, counted = 0;
	struct bpf_insn code[] = { BPF_COUNT(map) };

	prog = bpf_load(BPF_PROG_TYPE_RAW_TRACEPOINT, code, sizeof(code));
	need(prog >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t before = bpf_counter_read(map);
		int point = bpf_open_point(prog, "sys_enter");

		need(point >= 0);
		for (int call = 0; call < CALLS; call++)
			syscall(SYS_getppid);
		close(point);
		counted += bpf_counter_read(map) >= before + CALLS;
	}
	answer(counted == ROUNDS, "done", "%d of %d times the calls were counted, in all %lu",
	       counted, ROUNDS, bpf_counter_read(map));
}

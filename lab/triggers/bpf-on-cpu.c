// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: bpf-on-cpu
 * row: 121
 * class: queue
 * kind: program
 * notick: no
 * about: a BPF program is run on the isolated CPU by name
 */
#include "bpfrun.h"
#include "trigger.h"

enum { ROUNDS = 5 };

int main(void)
{
	/* It returns the number of the CPU that it ran on. */
	struct bpf_insn code[] = {
		BPF_CALL_HELPER(BPF_FUNC_get_smp_processor_id),
		BPF_END_PROGRAM,
	};
	int cpu = env_number("ISO_CPU"), there = 0;
	int prog = bpf_load(BPF_PROG_TYPE_RAW_TRACEPOINT, code, sizeof(code));

	need(prog >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		union bpf_attr attr;

		memset(&attr, 0, sizeof(attr));
		attr.test.prog_fd = (uint32_t)prog;
		attr.test.flags = BPF_F_TEST_RUN_ON_CPU;
		attr.test.cpu = (uint32_t)cpu;
		need(!bpf_ask(BPF_PROG_TEST_RUN, &attr));
		there += attr.test.retval == (uint32_t)cpu;
	}
	answer(there == ROUNDS, "done", "%d of %d runs were on CPU %d", there, ROUNDS, cpu);
}

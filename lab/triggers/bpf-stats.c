// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: bpf-stats
 * row: 1
 * class: defer
 * kind: program
 * notick: no
 * about: the statistics of BPF programs are switched on and off by a static key
 */
#include "bpfrun.h"
#include "trigger.h"

enum { ROUNDS = 4 };

static int enable(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.enable_stats.type = BPF_STATS_RUN_TIME;
	return bpf_ask(BPF_ENABLE_STATS, &attr);
}

static uint64_t runs(int prog)
{
	struct bpf_prog_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)prog;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	need(!bpf_ask(BPF_OBJ_GET_INFO_BY_FD, &attr));
	return info.run_cnt;
}

int main(void)
{
	int prog = bpf_load_return(BPF_PROG_TYPE_SOCKET_FILTER, 1);
	int counted = 0, silent = 0;
	uint64_t before;

	need(prog >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		int stats = enable();

		need(stats >= 0);
		before = runs(prog);
		need(bpf_run(prog, 1) == 1);
		counted += runs(prog) == before + 1;
		close(stats);
		before = runs(prog);
		need(bpf_run(prog, 1) == 1);
		silent += runs(prog) == before;
	}
	answer(counted == ROUNDS && silent == ROUNDS, "done",
	       "%d runs counted, %d not counted, of %d each", counted, silent, ROUNDS);
}

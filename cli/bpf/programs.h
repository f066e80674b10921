/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs in the kernel: loaded, attached, read, and gone again. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpulist.h"
#include "bpf/record.h"

struct programs;

struct programs_wanted {
	const struct cpulist *cpus;
	uint64_t threshold_ns;
	int of;			/* 0: losses of all in user space */
	bool stacks;
	uint64_t ring_bytes;	/* a power of two, and whole pages */
};

/*
 * Loads and attaches them, which patches the kernel's text once for each.  NULL: @why, to
 * be freed, says what is missing, and *@error is the errno: ENOENT, ENOSYS or EPERM if this
 * machine has no BPF for this user.  What this kernel cannot tell is in programs_notes().
 */
struct programs *programs_open(const struct programs_wanted *wanted, char **why, int *error);

/* They count from now on, or no longer: attaching them is not in what they find. */
void programs_count(struct programs *programs, bool on);

/* Lines; NULL: nothing is missing. */
const char *programs_notes(const struct programs *programs);

/* Gives each loss that was told since to @take.  0 or the errno. */
int programs_losses(struct programs *programs,
		    void (*take)(void *context, const struct record_loss *loss), void *context);

/* Gives each tally to @take.  0 or the errno. */
int programs_tallies(struct programs *programs,
		     void (*take)(void *context, const struct record_key *key,
				  const struct record_tally *tally), void *context);

/* False: @cpu is none of the machine's. */
bool programs_state(struct programs *programs, int cpu, struct record_state *state);

/* For struct reader; @context: the programs. */
size_t programs_stack(void *context, int number, uint64_t *calls, size_t most);

struct programs_cost {
	uint64_t runs, run_ns;	/* on all CPUs, while the kernel counted */
	uint64_t missed;	/* events that came amid the same program, and are not counted */
	uint64_t without_sender;	/* the same of programs that count nothing, but note who sends or wakes */
	uint64_t without_stack;	/* senders whose stack had no room */
	bool known;		/* the kernel counts runs */
};

/* While @on the kernel measures each run, which costs something too. */
void programs_measure(struct programs *programs, bool on);
struct programs_cost programs_cost(struct programs *programs);

/* No event reaches them any more; what was counted can still be read. */
void programs_detach(struct programs *programs);
void programs_close(struct programs *programs);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs counted, in the words of attribution, and added up. */
#ifndef SUM_H
#define SUM_H

#include <linux/types.h>

#include "attribute/cause.h"
#include "attribute/names.h"
#include "bpf/record.h"

/* Finds the calls of stack @number, at most @most; returns how many, or 0. */
typedef size_t (*sum_stack)(void *context, int number, uint64_t *calls, size_t most);

struct sum {
	int cpu;		/* -1: of several */
	enum cause_kind kind;
	const char *who;	/* NULL: not told */
	uint64_t count, total_ns, worst_ns, worst_at_ns;
	uint64_t buckets[RECORD_BUCKETS];
	const char *sender;	/* of the worst; NULL: not told, as -1 */
	int sender_cpu;
	const char *stack[CAUSE_STACK];
	size_t nr_stack;
};

struct sums {
	struct sum *list;
	size_t count;
};

struct reader {
	struct names *names;
	sum_stack stack;	/* NULL: there are none */
	void *context;
};

/* The kind and the name of what a record counts; @name: the kernel's, may be "". */
enum cause_kind sum_name(const struct reader *reader, unsigned int type, const __u64 who[2],
			 const char *name, const char **text);

/* Who sent it, in a cause: sender, sender_cpu and stack. */
void sum_sender(const struct reader *reader, const struct record_sender *sender,
		struct cause *cause);

/* Adds a tally; what has its CPU, kind and name already grows. */
void sums_add(struct sums *sums, const struct reader *reader, const struct record_key *key,
	      const struct record_tally *tally);

/* The same over all CPUs, in @all, which is empty. */
void sums_merge(struct sums *all, const struct sums *sums);

/* What took the most time first; of what takes none, what came most often. */
void sums_sort(struct sums *sums);
void sums_free(struct sums *sums);

/* A loss as a finding; times are of CLOCK_REALTIME if they are @real_ns later. */
void loss_finding(const struct reader *reader, const struct record_loss *loss, uint64_t real_ns,
		  struct finding *finding);

/*
 * When programs are no longer there a state may have a loss that was not told.  True: it
 * has, and @loss is it, over at @now_ns at the latest; its CPU's figures have it too.
 */
bool loss_last(struct record_state *state, uint64_t now_ns, struct record_loss *loss);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* Isolator: the quarantine of what is removed; see quarantine.c. */
#ifndef _ISOLATOR_QUARANTINE_H
#define _ISOLATOR_QUARANTINE_H

#include <linux/interval_tree.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

#include <asm/tlb.h>

#include "internal.h"

/**
 * struct isolator_removal - what one flush of a removal left behind
 * @range: its addresses, the last one included
 * @list: of the quarantine, in order of @number but for races
 * @number: of this removal: CPUs that have flushed since have nothing of it
 * @pages: what it holds: of each folio all, and its own books
 * @batch: the pages, as they were gathered; with room for the first ones
 */
struct isolator_removal {
	struct interval_tree_node	range;
	struct list_head		list;
	long				number;
	unsigned long			pages;
	struct mmu_gather_batch		batch;
	struct encoded_page		*entries[MMU_GATHER_BUNDLE];
};

/**
 * struct isolator_quarantine - of an mm, from the first start that asks for it
 * @lock: guards @removals and @ranges; innermost but for page table locks, which may be held
 * @removals: what waits, oldest first
 * @ranges: the same, by address
 * @pages: what it holds at most
 * @users: isolations that have it
 * @mm: whose it is, as long as it is in the list of all
 * @refs: the mm's, until it has no user, and one of each isolation
 * @all: of all quarantines, under isolator_quarantines_mutex
 * @emptying: the last time that it was to be emptied, under isolator_quarantines_mutex
 * @rcu: who looks at a CPU's may still look
 */
struct isolator_quarantine {
	spinlock_t		lock;	/* the two below */
	struct list_head	removals;
	struct rb_root_cached	ranges;
	atomic_long_t		pages;
	atomic_t		users;
	struct mm_struct	*mm;
	refcount_t		refs;
	struct list_head	all;
	u64			emptying;
	struct rcu_head		rcu;
};

/* Pages in all quarantines. */
extern atomic_long_t isolator_quarantine_pages;

/* How long none takes any after the machine ran out of memory, in jiffies; and until when. */
#define ISOLATOR_QUARANTINE_SHUT	(5 * HZ)
extern unsigned long isolator_quarantine_opens;

bool isolator_flushed(const struct isolator_quarantine *q, long number);
bool isolator_charge(struct isolator_quarantine *q, struct isolator_removal *removal,
		     unsigned long pages);
void isolator_uncharge(struct isolator_quarantine *q, unsigned long pages);

#endif /* _ISOLATOR_QUARANTINE_H */

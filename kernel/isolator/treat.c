// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the table that says, per callback, what becomes of a cross-call.
 * What is not in it is held.
 */
#include <linux/isolator.h>
#include <linux/kernel.h>
#include <linux/spinlock.h>

#include "internal.h"

#define ISOLATOR_TREATMENTS 32

static struct {
	void *func;
	enum isolator_treatment treatment;
} isolator_table[ISOLATOR_TREATMENTS];

static int isolator_table_used;
static DEFINE_RAW_SPINLOCK(isolator_table_lock);

/**
 * isolator_treat - enter a callback into the table, for good
 * @func: a function handed to smp_call_function*(), on_each_cpu*()
 * @treatment: what becomes of it while its target is in user mode
 *
 * Only built-in functions: an address in a module may be used again.
 * Returns 0, -EEXIST if it is there with another treatment, -ENOSPC.
 * Context: any, meant for initcalls.
 */
int isolator_treat(void *func, enum isolator_treatment treatment)
{
	unsigned long flags;
	int i, ret = 0;

	raw_spin_lock_irqsave(&isolator_table_lock, flags);
	for (i = 0; i < isolator_table_used; i++) {
		if (isolator_table[i].func == func) {
			if (isolator_table[i].treatment != treatment)
				ret = -EEXIST;
			goto out;
		}
	}
	if (i == ISOLATOR_TREATMENTS) {
		ret = -ENOSPC;
		goto out;
	}
	isolator_table[i].func = func;
	isolator_table[i].treatment = treatment;
	/* Publishes the entry to isolator_treatment(), which takes no lock. */
	smp_store_release(&isolator_table_used, i + 1);
out:
	raw_spin_unlock_irqrestore(&isolator_table_lock, flags);
	return ret;
}

/**
 * isolator_treatment - how a cross-call of @func is treated
 *
 * Context: any; constant time in the size of the table.
 */
enum isolator_treatment isolator_treatment(void *func)
{
	/* Pairs with isolator_treat(): the entries below it are written. */
	int i, used = smp_load_acquire(&isolator_table_used);

	for (i = 0; i < used; i++) {
		if (isolator_table[i].func == func)
			return isolator_table[i].treatment;
	}
	return ISOLATOR_HOLD;
}

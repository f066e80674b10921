// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the table that says, per callback, what becomes of a cross-call.
 * What is not in it is queued.
 */
#include <linux/isolator.h>
#include <linux/kernel.h>
#include <linux/spinlock.h>

#include "internal.h"

static struct isolator_rule isolator_table[ISOLATOR_RULES];

static int isolator_table_used;
static DEFINE_RAW_SPINLOCK(isolator_table_lock);

/**
 * isolator_set_policy - enter a callback into the table, for good
 * @func: a function handed to smp_call_function*(), on_each_cpu*()
 * @policy: what becomes of it while its target is in user mode
 *
 * Only built-in functions: an address in a module may be used again.
 * Returns 0, -EEXIST if it is there with another policy, -ENOSPC.
 * Context: any, meant for initcalls.
 */
int isolator_set_policy(void *func, enum isolator_policy policy)
{
	unsigned long flags;
	int i, ret = 0;

	raw_spin_lock_irqsave(&isolator_table_lock, flags);
	for (i = 0; i < isolator_table_used; i++) {
		if (isolator_table[i].func == func) {
			if (isolator_table[i].policy != policy)
				ret = -EEXIST;
			goto out;
		}
	}
	if (i == ISOLATOR_RULES) {
		ret = -ENOSPC;
		goto out;
	}
	isolator_table[i].func = func;
	isolator_table[i].policy = policy;
	/* Publishes the entry to __isolator_rule(), which takes no lock. */
	smp_store_release(&isolator_table_used, i + 1);
out:
	raw_spin_unlock_irqrestore(&isolator_table_lock, flags);
	return ret;
}

/**
 * __isolator_rule - what the table says of a cross-call of @func
 *
 * NULL: nothing, it is queued.  Context: any; constant time in the size of the table.
 */
const struct isolator_rule *__isolator_rule(void *func)
{
	/* Pairs with isolator_set_policy(): the entries below it are written. */
	int i, used = smp_load_acquire(&isolator_table_used);

	for (i = 0; i < used; i++) {
		if (isolator_table[i].func == func)
			return &isolator_table[i];
	}
	return NULL;
}

/** isolator_rule_slot - the place of @rule in the table */
unsigned int isolator_rule_slot(const struct isolator_rule *rule)
{
	return rule - isolator_table;
}

/** isolator_rule_at - the rule at a place of the table, NULL behind the last */
const struct isolator_rule *isolator_rule_at(unsigned int slot)
{
	/* Pairs with isolator_set_policy(), as above. */
	return slot < smp_load_acquire(&isolator_table_used) ? &isolator_table[slot] : NULL;
}

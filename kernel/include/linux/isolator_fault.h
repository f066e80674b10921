/* SPDX-License-Identifier: GPL-2.0-only */
/* Isolator: faults that a test plants at run time, to see that the tests notice. */
#ifndef _LINUX_ISOLATOR_FAULT_H
#define _LINUX_ISOLATOR_FAULT_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Planted faults: each one must make a test fail. */
enum isolator_fault {
	ISOLATOR_FAULT_NONE,
	ISOLATOR_FAULT_SKIP_DEFERRED,
	ISOLATOR_FAULT_DROP_QUEUED,
	ISOLATOR_FAULT_LOSE_WAKEUP,
	ISOLATOR_FAULT_NO_YIELD,
	ISOLATOR_FAULT_LEAVE_CALLBACK,
	ISOLATOR_FAULT_QUEUE_EXCLUDED,
	ISOLATOR_FAULT_KEEP_REMOTE,
	ISOLATOR_FAULT_ALLOW_READERS,
	ISOLATOR_FAULT_QUEUE_IMMEDIATE,
	ISOLATOR_FAULT_SLOW_START,
	ISOLATOR_FAULT_IGNORE_GATE,
	ISOLATOR_FAULT_OPEN_GATE,
	ISOLATOR_FAULT_FENCE_KERNEL,
	ISOLATOR_FAULT_FREE_REMOVED,
	ISOLATOR_FAULT_REUSE_REMOVED,
	ISOLATOR_FAULT_LIST_LATE,
	ISOLATOR_FAULT_NO_ENTRY_SYNC,
	ISOLATOR_FAULT_WATCH_SECTION,
	ISOLATOR_FAULT_FENCE_SECTION,
	ISOLATOR_FAULT_NO_NOW,
	ISOLATOR_FAULT_LATE_STOPPER,
	ISOLATOR_FAULT_NO_KICK,
	ISOLATOR_FAULT_BORROW_TABLES,
	ISOLATOR_FAULT_SPLIT_LATE,
	ISOLATOR_FAULT_MISS_PARK,
	ISOLATOR_FAULT_TRUST_WORD,
	ISOLATOR_FAULTS,
};

#ifdef CONFIG_ISOLATOR_FAULTS
extern enum isolator_fault isolator_planted_fault;
static __always_inline bool isolator_fault(enum isolator_fault fault)
{
	return READ_ONCE(isolator_planted_fault) == fault;
}
#else
static __always_inline bool isolator_fault(enum isolator_fault fault)
{
	return false;
}
#endif

#endif /* _LINUX_ISOLATOR_FAULT_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolator: is this the memory of an isolated thread?  Apart from isolator.h,
 * because linux/mm.h needs it.
 */
#ifndef _LINUX_ISOLATOR_MM_H
#define _LINUX_ISOLATOR_MM_H

#include <linux/atomic.h>
#include <linux/isolator_cpu.h>
#include <linux/mm_types.h>

#ifdef CONFIG_ISOLATOR

bool __isolator_mm(struct mm_struct *mm);

/**
 * isolator_mm - is a thread of this mm isolated, and are others to keep off it?
 * @mm: the mm, with a reference held
 *
 * Context: any.  A snapshot: who acts on a stale "no" causes a TLB flush that
 * is queued like any other, never a wrong one.
 */
static __always_inline bool isolator_mm(struct mm_struct *mm)
{
	return isolator_enabled() && atomic_read(&mm->isolator_users) > 0 &&
	       __isolator_mm(mm);
}

void isolator_mm_get(struct mm_struct *mm, bool locks);
int isolator_mm_settle(struct mm_struct *mm);
void isolator_mm_put(struct mm_struct *mm);
bool isolator_mm_locked(struct mm_struct *mm);

#else /* CONFIG_ISOLATOR */

static __always_inline bool isolator_mm(struct mm_struct *mm)
{
	return false;
}

#endif /* CONFIG_ISOLATOR */
#endif /* _LINUX_ISOLATOR_MM_H */

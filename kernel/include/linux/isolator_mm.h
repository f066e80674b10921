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

struct mem_cgroup;
struct vm_area_struct;

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

/* kernel/isolator/quarantine.c */
bool __isolator_quarantine_begin(struct mm_struct *mm);
bool __isolator_quarantined(struct mm_struct *mm);
void __isolator_addresses_wait(struct mm_struct *mm, unsigned long start, unsigned long end);
unsigned long __isolator_address_beside(struct mm_struct *mm, unsigned long addr,
					unsigned long len);
bool isolator_removable(const struct vm_area_struct *vma);
unsigned long isolator_quarantine_empty(struct mem_cgroup *memcg);
void __isolator_quarantine_exit(struct mm_struct *mm);

/**
 * isolator_quarantine_begin - may what is removed from @mm wait for isolated CPUs, unasked?
 *
 * Frees what need not wait any more.  Context: process.
 */
static __always_inline bool isolator_quarantine_begin(struct mm_struct *mm)
{
	return isolator_enabled() && READ_ONCE(mm->isolator_quarantine) &&
	       __isolator_quarantine_begin(mm);
}

/** isolator_quarantined - does anything removed from @mm wait?  The mmap lock held */
static __always_inline bool isolator_quarantined(struct mm_struct *mm)
{
	return isolator_enabled() && READ_ONCE(mm->isolator_quarantine) &&
	       __isolator_quarantined(mm);
}

/**
 * isolator_addresses_wait - something is to be mapped there: nothing removed may be left
 * @mm: the mm, its mmap lock held for writing
 *
 * Context: process, interrupts on; waits for a tick, at most D_spin, if the range was
 * removed and an isolated CPU may still use it.
 */
static __always_inline void isolator_addresses_wait(struct mm_struct *mm,
						    unsigned long start, unsigned long end)
{
	if (isolator_quarantined(mm))
		__isolator_addresses_wait(mm, start, end);
}

/** isolator_address_beside - a hint where to map instead, 0: where it is no mapping waits */
static __always_inline unsigned long isolator_address_beside(struct mm_struct *mm,
							     unsigned long addr,
							     unsigned long len)
{
	return isolator_quarantined(mm) ? __isolator_address_beside(mm, addr, len) : 0;
}

/** isolator_quarantine_exit - @mm has no user and no mapping any more */
static __always_inline void isolator_quarantine_exit(struct mm_struct *mm)
{
	/* Not the key, which may have been switched off since. */
	if (unlikely(mm->isolator_quarantine))
		__isolator_quarantine_exit(mm);
}

#else /* CONFIG_ISOLATOR */

static __always_inline bool isolator_mm(struct mm_struct *mm)
{
	return false;
}

static inline bool isolator_removable(const struct vm_area_struct *vma) { return false; }
static inline unsigned long isolator_quarantine_empty(struct mem_cgroup *memcg) { return 0; }
static inline void isolator_addresses_wait(struct mm_struct *mm, unsigned long start,
					   unsigned long end) { }
static inline unsigned long isolator_address_beside(struct mm_struct *mm, unsigned long addr,
						    unsigned long len)
{
	return 0;
}

static inline void isolator_quarantine_exit(struct mm_struct *mm) { }

#endif /* CONFIG_ISOLATOR */
#endif /* _LINUX_ISOLATOR_MM_H */

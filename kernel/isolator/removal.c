// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: what a removal leaves to the quarantine, see quarantine.c, and what it may not. */
#include <linux/delay.h>
#include <linux/isolator.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include "quarantine.h"

/*
 * A planted fault: longer than an isolation takes to end, and its quarantine to be freed, which
 * sanitizers slow down.
 */
#define ISOLATOR_SLOW		(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KCSAN))
#define ISOLATOR_LATE_MS	(ISOLATOR_SLOW ? 20000 : 2000)

atomic_long_t isolator_quarantine_pages = ATOMIC_LONG_INIT(0);
unsigned long isolator_quarantine_opens;

/**
 * isolator_removable - may what is removed from this mapping wait?
 *
 * Memory that is nobody else's, and not a file's: who truncates that relies on its pages
 * being free then, and reclaim would take them for nothing.  A driver may use its pages
 * again when its mapping is closed.
 *
 * Context: any, the VMA stays.
 */
bool isolator_removable(const struct vm_area_struct *vma)
{
	return vma_is_anonymous((struct vm_area_struct *)vma) &&
	       !(vma->vm_flags & (VM_SHARED | VM_MAYSHARE | VM_IO | VM_PFNMAP | VM_MIXEDMAP |
				  VM_HUGETLB)) &&
	       !userfaultfd_armed((struct vm_area_struct *)vma);
}

/**
 * isolator_charge - room for @pages in all, of which @removal has some already?
 *
 * None for a while after the machine ran out of memory.
 */
bool isolator_charge(struct isolator_quarantine *q, struct isolator_removal *removal,
		     unsigned long pages)
{
	unsigned long more = pages - min(pages, removal->pages);
	unsigned long limit = READ_ONCE(isolator_limits.quarantine) >> PAGE_SHIFT;

	if (time_before(jiffies, READ_ONCE(isolator_quarantine_opens)))
		return false;
	if (atomic_long_add_return(more, &isolator_quarantine_pages) > limit) {
		atomic_long_sub(more, &isolator_quarantine_pages);
		return false;
	}
	atomic_long_add(more, &q->pages);
	removal->pages += more;
	return true;
}

/** isolator_quarantine_bytes - what waits for the CPU, and for others of its process */
u64 isolator_quarantine_bytes(struct isolator_cpu *ic)
{
	u64 pages = 0;

	raw_spin_lock_irq(&ic->lock);
	if (ic->quarantine)
		pages = atomic_long_read(&ic->quarantine->pages);
	raw_spin_unlock_irq(&ic->lock);
	return pages << PAGE_SHIFT;
}

/** isolator_quarantine_max - the most that may be allowed: half of the memory */
u64 isolator_quarantine_max(void)
{
	return ((u64)totalram_pages() << PAGE_SHIFT) / 2;
}

/** isolator_uncharge - so many are freed */
void isolator_uncharge(struct isolator_quarantine *q, unsigned long pages)
{
	atomic_long_sub(pages, &q->pages);
	atomic_long_sub(pages, &isolator_quarantine_pages);
}

/*
 * The addresses of what @tlb has removed since it last freed anything: of a table, all that it
 * maps, as a CPU that has not flushed may still walk by it. A freed P4D table leaves no mark
 * in @tlb.
 */
static void isolator_gather_range(struct mmu_gather *tlb)
{
	unsigned long unit = PAGE_SIZE;

	if (tlb->freed_tables)
		unit = tlb->cleared_p4ds ? PGDIR_SIZE : tlb->cleared_puds ? PUD_SIZE :
		       tlb->cleared_pmds ? PMD_SIZE : PGDIR_SIZE;
	tlb->removed_start = min(tlb->removed_start, round_down(tlb->start, unit));
	tlb->removed_end = max(tlb->removed_end, round_up(tlb->end, unit));
}

/** isolator_gather_nested - the range of @tlb is about to be widened to all of the mm */
void isolator_gather_nested(struct mmu_gather *tlb)
{
	if (tlb->quarantine && !tlb->fullmm)
		isolator_gather_range(tlb);
}

/**
 * isolator_gather_defer - may the flush to come leave out isolated CPUs in user mode?
 * @tlb: its page tables are changed
 *
 * Post: if so, isolator_gather_keep() is called before anything of it is freed.
 * Context: as a flush; page table locks may be held.
 */
bool isolator_gather_defer(struct mmu_gather *tlb)
{
	struct isolator_quarantine *q = tlb->mm->isolator_quarantine;
	struct isolator_removal *removal = tlb->removal;

	/* What is done to a page once nobody can write to it any more does not wait. */
	if (tlb->delayed_rmap || tlb->unshared_tables || tlb->need_flush_all)
		return false;
	if (!removal)
		removal = kzalloc(sizeof(*removal), GFP_NOWAIT | __GFP_NOWARN);
	if (!removal)
		return false;
	if (!isolator_charge(q, removal, tlb_gathered_pages(tlb) + 1)) {
		if (!tlb->removal)
			kfree(removal);
		return false;
	}
	if (!tlb->fullmm)
		isolator_gather_range(tlb);
	tlb->removal = removal;
	/*
	 * A full barrier: the page tables before the number, and the number before
	 * the work bit.  Who takes the bit reads this number or a later one, and then flushes.
	 */
	removal->number = atomic_long_inc_return(&isolator_removals);
	return true;
}

/*
 * List @removal of what @tlb has gathered, if a CPU is still to flush.
 *
 * Looked at under the lock under which it is listed, so that none is listed after the last
 * look at the list: a CPU that has flushed or is no longer isolated says so first, and the
 * list is gone through after that, under the lock.  If that comes before this, it is
 * seen here; if later, it finds this.
 */
static bool isolator_list(struct isolator_quarantine *q, struct isolator_removal *removal,
			  struct mmu_gather *tlb)
{
	bool waits;

	if (isolator_fault(ISOLATOR_FAULT_LIST_LATE)) {
		waits = !isolator_flushed(q, removal->number);
		msleep(ISOLATOR_LATE_MS);
		spin_lock(&q->lock);
	} else {
		spin_lock(&q->lock);
		waits = !isolator_flushed(q, removal->number);
	}
	if (waits) {
		tlb_take_batches(tlb, &removal->batch);
		interval_tree_insert(&removal->range, &q->ranges);
		list_add_tail(&removal->list, &q->removals);
	}
	spin_unlock(&q->lock);
	return waits;
}

/**
 * isolator_gather_keep - what @tlb would free now waits, unless all have flushed
 *
 * Context: process, no page table lock; the mmap lock is held, which keeps off whoever
 * could map something there.
 */
void isolator_gather_keep(struct mmu_gather *tlb)
{
	struct isolator_quarantine *q = tlb->mm->isolator_quarantine;
	struct isolator_removal *removal = tlb->removal;

	tlb->removal = NULL;
	removal->range.start = tlb->removed_start;
	removal->range.last = tlb->removed_end - 1;
	tlb->removed_start = ULONG_MAX;
	tlb->removed_end = 0;
	if (isolator_list(q, removal, tlb))
		return;
	isolator_uncharge(q, removal->pages);
	kfree(removal);
}

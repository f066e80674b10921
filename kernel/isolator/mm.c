// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: leaves the memory of isolated threads alone.
 *
 * A flush of user translations cannot be deferred: until it is done, freed
 * pages can be read by their old owner.  So it is queued, and to make it rare
 * everything optional that changes the page tables of such an mm is refused
 * while isolator_mm() holds.
 *
 *  - Reclaim, compaction, migration, splitting: the rmap walk stops at the
 *    first mapping in such an mm, as it does at a locked one, and the folio
 *    stays.  Mappings of other mms that were unmapped before come back by a
 *    minor fault (reclaim) or as the migration is undone: nothing is lost.
 *    Memory failure and truncation go on (TTU_MUST).  Taking memory offline
 *    gets -EBUSY after some tries.
 *  - Bounded: what cannot be reclaimed is the memory of a process that may lock all of
 *    it, by CAP_IPC_LOCK of who asked for the start or by its RLIMIT_MEMLOCK. One that
 *    is larger is treated like any other, and its flushes are queued. Its memcg limit
 *    and the OOM killer, whose SIGKILL is always delivered, hold as for mlockall().
 *  - KSM, khugepaged, MADV_COLLAPSE, NUMA balancing skip it; clearing
 *    soft-dirty bits, or referenced ones where the CPU does not set them by
 *    itself, and another process's process_madvise() get -EBUSY.
 *  - fork copies its exclusive anonymous pages at once instead of
 *    write-protecting them, as for pinned pages; of a huge page the child gets
 *    small copies, and the parent keeps it.  It can fail with -ENOMEM as any
 *    copy can.  A page that an earlier child shares already is
 *    write-protected already: the first write is the task's own COW fault.
 *
 * What remains is asked for by the process itself (munmap, mprotect, writeback
 * of its shared file mappings): queued, at most D_spin.
 */
#include <linux/hugetlb.h>
#include <linux/isolator.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched/mm.h>
#include <linux/secretmem.h>

atomic_long_t isolator_mm_kept_pages = ATOMIC_LONG_INIT(0);

/**
 * isolator_mm_get - others keep off this mm from now on
 * @mm: the mm of the current task; counts, several threads may
 * @locks: however large it is; else as much as RLIMIT_MEMLOCK lets the task lock
 *
 * Pre: the static key is on.
 * Post: who takes the mmap lock from here on sees it, isolator_mm_settle() deals with
 * who has it.  The largest of what its threads may holds until the last is through.
 *
 * Context: isolator_mutex held, which keeps off other gets.
 */
void isolator_mm_get(struct mm_struct *mm, bool locks)
{
	unsigned long pages = locks ? ULONG_MAX : rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	/* The last put may come meanwhile: what it counted for is gone then. */
	if (atomic_inc_return(&mm->isolator_users) == 1 || pages > mm->isolator_pages)
		WRITE_ONCE(mm->isolator_pages, pages);
}

/* Is it no larger than what others may be kept off?  As mlockall() counts. */
bool __isolator_mm(struct mm_struct *mm)
{
	return READ_ONCE(mm->total_vm) <= READ_ONCE(mm->isolator_pages);
}

/**
 * isolator_mm_settle - waits for who began before isolator_mm_get()
 * @mm: the mm
 *
 * Post: nothing that holds the mmap lock (KSM, khugepaged, fork, soft-dirty)
 * works with the old state any more.  An rmap walk that began before may still
 * flush; such a flush is delivered or queued as any other.
 *
 * Context: process context, may sleep, takes the mmap lock for writing.  Whoever can
 * make the process wait for a page decides how long: no lock that others need is held.
 * Return: 0, or -EINTR when killed.
 */
int isolator_mm_settle(struct mm_struct *mm)
{
	if (mmap_write_lock_killable(mm))
		return -EINTR;
	mmap_write_unlock(mm);
	return 0;
}

/**
 * isolator_mm_put - undoes one isolator_mm_get()
 * @mm: the mm
 *
 * Context: any; the caller holds a reference on @mm.
 */
void isolator_mm_put(struct mm_struct *mm)
{
	WARN_ON_ONCE(atomic_dec_return(&mm->isolator_users) < 0);
}

/**
 * isolator_mm_locked - is all memory of this mm locked that can be?
 * @mm: the mm
 *
 * Context: process context, may sleep as isolator_mm_settle() does.
 * Return: false too when the lock could not be taken because we are killed.
 */
bool isolator_mm_locked(struct mm_struct *mm)
{
	struct vm_area_struct *vma;
	struct vma_iterator vmi;
	bool locked = true;

	if (mmap_read_lock_killable(mm))
		return false;
	vma_iter_init(&vmi, mm, 0);
	for_each_vma(vmi, vma) {
		/* What mlock_fixup() exempts is never reclaimed. */
		if (vma->vm_flags & (VM_LOCKED | VM_SPECIAL | VM_DROPPABLE) ||
		    is_vm_hugetlb_page(vma) || vma_is_dax(vma) ||
		    vma_is_secretmem(vma))
			continue;
		locked = false;
		break;
	}
	mmap_read_unlock(mm);
	return locked;
}

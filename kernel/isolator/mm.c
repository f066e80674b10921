// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: leaves the memory of isolated threads alone.
 *
 * A flush of user translations cannot be deferred: until it is done, freed
 * pages can be read by their old owner.  So it is held, and to make it rare
 * everything optional that changes the page tables of such an mm is refused
 * while isolator_mm() holds.
 *
 *  - Reclaim, compaction, migration, splitting: the rmap walk stops at the
 *    first mapping in such an mm, as it does at a locked one, and the folio
 *    stays.  Mappings of other mms that were unmapped before come back by a
 *    minor fault (reclaim) or as the migration is undone: nothing is lost.
 *    Memory failure goes on; the page is gone anyway.  Taking memory offline
 *    gets -EBUSY after some tries.
 *  - Bounded: what cannot be reclaimed is the resident set of a process that
 *    was started by a privileged user and is to be locked; its memcg limit and
 *    the OOM killer, whose SIGKILL is always delivered, hold as for mlockall().
 *  - KSM, khugepaged, MADV_COLLAPSE, NUMA balancing skip it; clearing
 *    soft-dirty bits and another process's process_madvise() get -EBUSY.
 *  - fork copies its exclusive anonymous pages at once instead of
 *    write-protecting them, as for pinned pages.  It can fail with -ENOMEM as
 *    any copy can.  A page that an earlier child shares already is
 *    write-protected already: the first write is the task's own COW fault.
 *
 * What remains is asked for by the process itself (munmap, mprotect, writeback
 * of its shared file mappings): held, at most D_spin.
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
 * @mm: the mm of the thread that starts; counts, several threads may
 *
 * Pre: the static key is on.
 * Post: nothing that holds the mmap lock (KSM, khugepaged, fork, soft-dirty)
 * works with the old state any more.  An rmap walk that began before may still
 * flush; such a flush is delivered or held as any other.
 *
 * Context: process context, may sleep, takes the mmap lock for writing.
 * Return: 0, or -EINTR when killed.
 */
int isolator_mm_get(struct mm_struct *mm)
{
	atomic_inc(&mm->isolator_users);
	if (mmap_write_lock_killable(mm)) {
		atomic_dec(&mm->isolator_users);
		return -EINTR;
	}
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
 * Context: process context, may sleep.
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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the quarantine of what siblings of an isolated task remove.
 *
 * munmap() takes translations away.  An isolated CPU in user mode may have them in its
 * TLB, and pages that are freed before it has flushed could be read by their old owner.
 * So the flush is queued and the sibling waits.  With ISOLATOR_START_QUARANTINE the pages
 * and the addresses wait instead, as in LATR (Kumar et al., ASPLOS 2018): the pages keep the
 * reference that the mapping had, and the addresses get no new page, until the CPU has
 * entered the kernel and flushed.
 *
 * Two rules, and all else follows from them:
 *
 *  1. What a stale translation leads to stays as it is: the pages, and the page tables that
 *     the CPU's page walks may still read, which are empty.
 *  2. No translation is put where a stale one may be: who maps something at a
 *     quarantined address waits as a removal did before, and where nothing is mapped no
 *     fault puts a page.  So the page tables never say one thing and the TLB another.
 *
 * Why this is safe:
 *
 *  - The order.  The page tables are changed; then the removal takes a number, then
 *    sets ISOLATOR_WORK_USER and looks at the CPU's state, with full barriers between,
 *    as for all that is deferred (see linux/isolator.h).  User mode: the CPU flushes at
 *    its next entry, before it accesses user memory or takes a lock.  Kernel: it
 *    is interrupted and flushes at once.  The CPU reads the last number before it
 *    flushes and publishes it after: what is numbered up to that has no stale translation.
 *    An access by the kernel on behalf of the task comes after that flush.
 *  - All other CPUs have flushed when the removal returns, as ever.
 *  - Only what nobody else can want to have back at once: anonymous memory.  Writes
 *    through a stale translation go to private memory only.  Whoever shares an anonymous
 *    page since a fork copies it on a write, because of our reference; nobody can have
 *    been writing to it.  Files, shared mappings, device memory, huge pages of hugetlbfs
 *    and what userfaultfd watches wait as before.
 *  - Only what may not be accessed any more, so that no access through a stale translation
 *    is missed: munmap(), and what brk() and mremap() cut off.  After MADV_DONTNEED the
 *    thread may write there, in an order that its siblings rely on: told through memory,
 *    without a kernel entry, that the advice was taken, it would write to the old page,
 *    which nobody else sees.  That waits as before.
 *  - Tightenings wait as before: mprotect(), write protection for COW, soft-dirty or KSM,
 *    migration, MADV_FREE, truncation.  There is no page to hold back: who asked relies on
 *    it that no access is possible any more.
 *
 * What user mode sees: an access of the isolated thread to what a sibling has removed gives
 * the old data, or changes it, or faults, until its next kernel entry; never other data.
 *
 * What bounds it: memory.  Nobody waits for it, so no deadline applies; it makes a tick
 * due, and with a batch period a planned interruption.  Beyond limits' quarantine_bytes,
 * or without memory for its own books, a removal waits as before, and that frees all that
 * waited; so does the last resort before the OOM killer, of the machine and of a memcg, to
 * which it stays charged, before a task is put to sleep for its memcg's memory.high, and who
 * takes memory offline.  A page keeps all of its folio, so that is counted: too much, where a
 * folio is removed in pieces.
 */
#include <linux/interval_tree.h>
#include <linux/isolator.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/oom.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "quarantine.h"

/* How many quarantined ranges are looked at for an address beside them. */
#define ISOLATOR_BESIDE_TRIES	64

/* So many pages, and what one removal has beyond, are freed before others have their turn. */
#define ISOLATOR_REAP_PAGES	4096

atomic_long_t isolator_removals = ATOMIC_LONG_INIT(0);

/* Pages that are on no list any more, and are about to be free. */
static atomic_long_t isolator_reaping = ATOMIC_LONG_INIT(0);

static LIST_HEAD(isolator_quarantine_list);

/* How often some were emptied; those of the last time have this number. */
static u64 isolator_emptying;

/*
 * Guards the list and the numbers.  Who has it allocates nothing and takes no lock beyond it
 * that is held over an allocation: those who need memory wait for it.  Nor does it wait for a CPU.
 */
static DEFINE_MUTEX(isolator_quarantines_mutex);

/*
 * Has this CPU anything to flush?
 *
 * The bit, then what was taken of it and is not done yet: __isolator_run_deferred() notes
 * the second before it clears the first, and clears that when it has flushed.
 */
static bool isolator_owes_flush(int cpu)
{
	struct isolator_hot *hot = per_cpu_ptr(&isolator_hot, cpu);

	if (atomic_read_acquire(&hot->work) & ISOLATOR_WORK_USER)
		return true;
	/* After it, and what we free after this: see above. */
	return smp_load_acquire(&hot->pending) & ISOLATOR_WORK_USER;
}

/*
 * Has this CPU flushed since the removal?  Or has it nothing to flush: it was in the
 * kernel then, and was interrupted, or did not have the mm.
 */
static bool isolator_cpu_flushed(int cpu, long number)
{
	/* Pairs with the release after the flush: what we free is in no TLB. */
	return atomic_long_read_acquire(&per_cpu(isolator_hot, cpu).flushed) - number >= 0 ||
	       !isolator_owes_flush(cpu);
}

/*
 * Is this one of the CPUs that a removal from @q may have left out?
 *
 * A CPU is left out only as the isolated one of this mm: with another mm loaded it has no
 * translation of this one that it can use.  One that is isolated no longer has entered
 * the kernel for the end of it, and flushed; one that is isolated anew at its start.
 */
static bool isolator_waits_for(const struct isolator_quarantine *q, int cpu)
{
	return READ_ONCE(isolator_of(cpu)->quarantine) == q;
}

/** isolator_flushed - may what was removed up to @number go on?  Context: any. */
bool isolator_flushed(const struct isolator_quarantine *q, long number)
{
	int cpu;

	if (isolator_fault(ISOLATOR_FAULT_FREE_REMOVED))
		return true;
	for_each_cpu(cpu, &isolator_cpumask) {
		if (isolator_waits_for(q, cpu) && !isolator_cpu_flushed(cpu, number))
			return false;
	}
	return true;
}

static void isolator_removal_free(struct isolator_quarantine *q,
				  struct isolator_removal *removal)
{
	tlb_free_batches(&removal->batch);
	isolator_uncharge(q, removal->pages);
	atomic_long_sub(removal->pages, &isolator_reaping);
	kfree(removal);
}

/*
 * Free some of what need not wait any more; of all, if its mm has no user.  Returns the pages:
 * at least ISOLATOR_REAP_PAGES, if there may be more.
 */
static unsigned long isolator_reap_some(struct isolator_quarantine *q, bool all)
{
	struct isolator_removal *removal, *next;
	unsigned long pages = 0;
	LIST_HEAD(done);

	spin_lock(&q->lock);
	list_for_each_entry_safe(removal, next, &q->removals, list) {
		if (pages >= ISOLATOR_REAP_PAGES ||
		    (!all && !isolator_flushed(q, removal->number)))
			break;
		pages += removal->pages;
		interval_tree_remove(&removal->range, &q->ranges);
		list_move_tail(&removal->list, &done);
	}
	atomic_long_add(pages, &isolator_reaping);
	spin_unlock(&q->lock);
	list_for_each_entry_safe(removal, next, &done, list)
		isolator_removal_free(q, removal);
	cond_resched();
	return pages;
}

/* Likewise, in portions until nothing is left to free.  Context: process, no page table lock. */
static unsigned long isolator_reap(struct isolator_quarantine *q, bool all)
{
	unsigned long pages = 0, some;

	do {
		some = isolator_reap_some(q, all);
		pages += some;
	} while (some >= ISOLATOR_REAP_PAGES);
	return pages;
}

/* From user mode, the entry has done it; a CPU in the kernel has only the bit left. */
static void isolator_entered(void *unused)
{
	isolator_kernel_enter();
}

static bool isolator_not_flushed(int cpu, void *q)
{
	return isolator_waits_for(q, cpu) && isolator_owes_flush(cpu);
}

/*
 * Have all of it flushed: each CPU that has not enters the kernel for a call, which is
 * queued as any other.  Waits for a tick, at most D_spin.
 */
static void isolator_quarantine_flush(struct isolator_quarantine *q)
{
	on_each_cpu_cond_mask(isolator_not_flushed, isolator_entered, q, true,
			      &isolator_cpumask);
}

bool __isolator_quarantine_begin(struct mm_struct *mm)
{
	struct isolator_quarantine *q = mm->isolator_quarantine;

	if (atomic_long_read(&q->pages))
		isolator_reap(q, false);
	return atomic_read(&q->users) > 0;
}

/* A look without the lock: what is removed under the mmap lock is seen by who has it next. */
bool __isolator_quarantined(struct mm_struct *mm)
{
	return atomic_long_read(&mm->isolator_quarantine->pages) > 0;
}

/* Is anything of the range still to be waited for? */
static bool isolator_range_waits(struct isolator_quarantine *q, unsigned long start,
				 unsigned long last)
{
	struct interval_tree_node *node;
	bool waits = false;

	/* Then mostly the first that is found waits. */
	isolator_reap(q, false);
	spin_lock(&q->lock);
	for (node = interval_tree_iter_first(&q->ranges, start, last); node && !waits;
	     node = interval_tree_iter_next(node, start, last))
		waits = !isolator_flushed(q, container_of(node, struct isolator_removal,
							  range)->number);
	spin_unlock(&q->lock);
	return waits;
}

void __isolator_addresses_wait(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	struct isolator_quarantine *q = mm->isolator_quarantine;

	if (start >= end || isolator_fault(ISOLATOR_FAULT_REUSE_REMOVED))
		return;
	if (!isolator_range_waits(q, start, end - 1))
		return;
	isolator_quarantine_flush(q);
	isolator_reap(q, false);
}

/*
 * Whoever unmaps and maps in turn would be given the same addresses each time, and wait.
 * Below what was removed there is mostly room; where there is none, the mapping waits.
 */
unsigned long __isolator_address_beside(struct mm_struct *mm, unsigned long addr,
					unsigned long len)
{
	struct isolator_quarantine *q = mm->isolator_quarantine;
	struct interval_tree_node *node;
	unsigned long hint = addr;
	int tries;

	if (!len || !isolator_range_waits(q, addr, addr + len - 1))
		return 0;
	spin_lock(&q->lock);
	for (tries = 0; tries < ISOLATOR_BESIDE_TRIES; tries++) {
		node = interval_tree_iter_first(&q->ranges, hint, hint + len - 1);
		if (!node || node->start < len + mmap_min_addr)
			break;
		hint = ALIGN_DOWN(node->start - len, len >= PMD_SIZE ? PMD_SIZE : PAGE_SIZE);
	}
	spin_unlock(&q->lock);
	return node || hint == addr ? 0 : hint;
}

/* What waited for ticks that have come since, of all; and of those that have gone. */
static void isolator_reap_all(void)
{
	struct isolator_quarantine *q;
	bool more;

	do {
		more = false;
		mutex_lock(&isolator_quarantines_mutex);
		list_for_each_entry(q, &isolator_quarantine_list, all) {
			if (isolator_reap_some(q, false) >= ISOLATOR_REAP_PAGES)
				more = true;
		}
		mutex_unlock(&isolator_quarantines_mutex);
	} while (more);
}

static void isolator_reap_ticked(struct work_struct *work)
{
	isolator_reap_all();
}

static DECLARE_WORK(isolator_reap_work, isolator_reap_ticked);

/**
 * isolator_quarantine_poll - has the CPU flushed since this was last called?
 *
 * So that its entry need not see to what it has released.  Context: hard interrupt, on the
 * CPU that keeps the time.
 */
void isolator_quarantine_poll(struct isolator_cpu *ic)
{
	long flushed = atomic_long_read(&per_cpu(isolator_hot, ic->cpu).flushed);

	if (!READ_ONCE(ic->quarantine) || flushed == ic->reaped)
		return;
	ic->reaped = flushed;
	queue_work(system_unbound_wq, &isolator_reap_work);
}

/* Does @q hold anything of @memcg or of a group below it?  NULL: of anybody. */
static bool isolator_quarantine_of(struct isolator_quarantine *q, struct mem_cgroup *memcg)
{
	struct mem_cgroup *owner;
	bool below;

	if (!atomic_long_read(&q->pages))
		return false;
	if (!memcg)
		return true;
	owner = get_mem_cgroup_from_mm(q->mm);
	below = mem_cgroup_is_descendant(owner, memcg);
	mem_cgroup_put(owner);
	return below;
}

static void isolator_quarantine_unref(struct isolator_quarantine *q)
{
	if (refcount_dec_and_test(&q->refs))
		kfree_rcu(q, rcu);
}

/*
 * Of a quarantine that was numbered, or later again, by whoever empties it?  Context: preemption
 * off, so that the quarantine stays; that of a CPU whose isolation ends may not be flushed here.
 */
static bool isolator_owes_numbered(int cpu, void *number)
{
	struct isolator_quarantine *q = READ_ONCE(isolator_of(cpu)->quarantine);

	return q && READ_ONCE(q->emptying) >= *(u64 *)number && isolator_owes_flush(cpu);
}

/**
 * isolator_quarantine_empty - free what waits, of the processes of a group or of all
 * @memcg: whose pages are charged to it or to a group below it, as far as their process is
 *	   there; NULL: all
 *
 * Interrupts the CPUs that have to flush, as a call does: waits for a tick, at most D_spin,
 * once for all of them.  Other groups' threads pay nothing for a group that is full.
 *
 * Returns how many pages were freed meanwhile, by whomever.  Context: process; page table locks
 * are not held, any lock may be over which memory is allocated.
 */
unsigned long isolator_quarantine_empty(struct mem_cgroup *memcg)
{
	long before = atomic_long_read(&isolator_quarantine_pages), freed;
	struct isolator_quarantine *q;
	u64 number;

	if (!before)
		return 0;
	mutex_lock(&isolator_quarantines_mutex);
	number = ++isolator_emptying;
	list_for_each_entry(q, &isolator_quarantine_list, all) {
		if (isolator_quarantine_of(q, memcg))
			WRITE_ONCE(q->emptying, number);
	}
	mutex_unlock(&isolator_quarantines_mutex);
	on_each_cpu_cond_mask(isolator_owes_numbered, isolator_entered, &number, true,
			      &isolator_cpumask);
	isolator_reap_all();
	freed = before - atomic_long_read(&isolator_quarantine_pages);
	return max(freed, 0L);
}

/*
 * Before anything is killed for want of memory, one interruption gives back what waits.  No
 * more may wait for a while: else siblings could refill it as fast, and nothing be killed.
 * Nor is more than one kill put off by pages that others are about to free: they may
 * have to wait for a CPU.
 */
static int isolator_quarantine_oom(struct notifier_block *nb, unsigned long unused, void *freed)
{
	bool again = time_before(jiffies, READ_ONCE(isolator_quarantine_opens));
	unsigned long pages;

	WRITE_ONCE(isolator_quarantine_opens, jiffies + ISOLATOR_QUARANTINE_SHUT);
	pages = isolator_quarantine_empty(NULL);
	if (!pages && !again)
		pages = atomic_long_read(&isolator_reaping);
	*(unsigned long *)freed += pages;
	return NOTIFY_OK;
}

static struct notifier_block isolator_quarantine_oom_notifier = {
	.notifier_call = isolator_quarantine_oom,
};

/**
 * isolator_quarantine_make - the quarantine of an mm, if it has none
 * @mm: of the current task
 *
 * Returns 0 or -ENOMEM.  Context: process, may sleep.
 */
int isolator_quarantine_make(struct mm_struct *mm)
{
	struct isolator_quarantine *q;

	if (READ_ONCE(mm->isolator_quarantine))
		return 0;
	q = kzalloc(sizeof(*q), GFP_KERNEL);
	if (!q)
		return -ENOMEM;
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->removals);
	q->ranges = RB_ROOT_CACHED;
	q->mm = mm;
	refcount_set(&q->refs, 1);
	mutex_lock(&isolator_quarantines_mutex);
	if (mm->isolator_quarantine) {
		kfree(q);
	} else {
		list_add(&q->all, &isolator_quarantine_list);
		/* Whole before it is seen. */
		smp_store_release(&mm->isolator_quarantine, q);
	}
	mutex_unlock(&isolator_quarantines_mutex);
	return 0;
}

/** isolator_quarantine_get - what is removed from the current task's mm waits for @ic's CPU */
void isolator_quarantine_get(struct isolator_cpu *ic)
{
	struct isolator_quarantine *q = current->mm->isolator_quarantine;

	refcount_inc(&q->refs);
	atomic_inc(&q->users);
	ic->reaped = atomic_long_read(&per_cpu(isolator_hot, ic->cpu).flushed);
	WRITE_ONCE(ic->quarantine, q);
}

/**
 * isolator_quarantine_put - and no longer; nothing if it did not
 *
 * Context: process; the isolation has ended.
 */
void isolator_quarantine_put(struct isolator_cpu *ic)
{
	struct isolator_quarantine *q = ic->quarantine;

	if (!q)
		return;
	/* Who shows it looks under the lock. */
	raw_spin_lock_irq(&ic->lock);
	WRITE_ONCE(ic->quarantine, NULL);
	raw_spin_unlock_irq(&ic->lock);
	atomic_dec(&q->users);
	isolator_quarantine_unref(q);
	queue_work(system_unbound_wq, &isolator_reap_work);
}

void __isolator_quarantine_exit(struct mm_struct *mm)
{
	struct isolator_quarantine *q = mm->isolator_quarantine;

	mutex_lock(&isolator_quarantines_mutex);
	list_del(&q->all);
	mutex_unlock(&isolator_quarantines_mutex);
	/* Nobody runs in it: no CPU has it loaded in user mode, nor is isolated with it. */
	isolator_reap(q, true);
	mm->isolator_quarantine = NULL;
	isolator_quarantine_unref(q);
}

/** isolator_quarantine_init - once, at boot */
void isolator_quarantine_init(void)
{
	isolator_limits.quarantine = isolator_quarantine_max() / 4;
	isolator_quarantine_opens = jiffies;
	register_oom_notifier(&isolator_quarantine_oom_notifier);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: empties what memory management keeps per CPU, so that nobody has
 * to ask this CPU for it later.
 *
 * What is left behind after such a drain (a page fault, a system call) makes a
 * request wait as any other that needs a thread of this CPU: it gets the CPU
 * at a tick.  So these are about being asked rarely, not about correctness.
 */
#include <linux/bottom_half.h>
#include <linux/buffer_head.h>
#include <linux/interrupt.h>
#include <linux/isolator.h>
#include <linux/memcontrol.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/vmstat.h>

/**
 * isolator_local_dirty - did this CPU keep pages back from the LRU lists?
 *
 * This is what drop_caches, mbind() and their kin ask all CPUs for.  Costs some
 * two dozen loads of this CPU's memory, most of them for buffer heads.
 *
 * Context: interrupts off, so that the answer holds until they are on.
 */
bool isolator_local_dirty(void)
{
	return lru_local_dirty(raw_smp_processor_id());
}

/**
 * isolator_local_drain - empties this CPU's batches
 *
 * Post: isolator_local_dirty() is false, unless an interrupt or another task of
 * this CPU came in between.
 *
 * Context: process context, interrupts on; sleeps on PREEMPT_RT only, where
 * the local locks do.
 */
void isolator_local_drain(void)
{
	migrate_disable();
	lru_add_and_bh_lrus_drain();
	mem_cgroup_local_drain();
	vmstat_local_fold();
	migrate_enable();
}

/*
 * Buffers that others have sent here to be freed wait for the next packet, which comes to
 * another CPU from now on.  More do not come, except from whoever chose this CPU before the
 * start and was preempted since: one buffer each, which is freed here after the end.
 */
static void isolator_local_net(void)
{
#ifdef CONFIG_NET
	local_bh_disable();
	raise_softirq(NET_RX_SOFTIRQ);
	local_bh_enable();
#endif
}

/**
 * isolator_local_start - once at start: the slabs and the statistics work too
 * @cpu: the CPU
 *
 * Post: no slab is cached on this CPU, no buffer of the network waits there, and its vmstat
 * work neither waits nor runs; the shepherd leaves CPUs in isolator_cpumask alone, and comes
 * back for this one by itself when it no longer is.
 *
 * Nothing happens if the isolation was ended meanwhile: this may be another CPU then.
 * Hot-plug waits for the little that is done here: a work item of this CPU that runs
 * right now, and local locks.
 *
 * Context: process context, the caller starts to isolate @cpu; may sleep.
 */
void isolator_local_start(int cpu)
{
	if (!isolator_pin_owner(cpu))
		return;
	vmstat_local_cancel();
	slab_local_flush();
	isolator_local_net();
	isolator_local_drain();
	migrate_enable();
}

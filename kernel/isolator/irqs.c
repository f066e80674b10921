// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: device interrupts stay on the other CPUs.
 *
 * irq_do_set_affinity() leaves isolated CPUs out unless the mask names nothing
 * else; the mask that the administrator reads stays as it was written.
 */
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/isolator.h>

#include "../irq/internals.h"
#include "internal.h"

/**
 * isolator_irq_mask - leaves isolated CPUs out of where an interrupt may go
 * @mask: the online CPUs that are asked for
 *
 * Context: a descriptor lock held, interrupts off.
 */
void isolator_irq_mask(struct cpumask *mask)
{
	unsigned int cpu;

	/*
	 * Starts go on meanwhile.  The CPU that is found stays, or the mask could lose
	 * its last one: if it has become isolated since, isolator_move_irqs() is about
	 * to take the descriptor lock and moves the interrupt on.  No lock is due here.
	 */
	cpu = data_race(cpumask_nth_andnot(0, mask, &isolator_cpumask));
	if (cpu < nr_cpu_ids) {
		data_race(cpumask_andnot(mask, mask, &isolator_cpumask)); /* as above */
		cpumask_set_cpu(cpu, mask);
		return;
	}
	/* A quiet section of the kernel must leave for it: isolator_watch_section(). */
	for_each_cpu(cpu, mask)
		WRITE_ONCE(isolator_of(cpu)->irqs_come, true);
}

/* The affinity that was asked for last, even if it is not in force yet. */
static const struct cpumask *isolator_irq_wanted(struct irq_desc *desc)
{
#ifdef CONFIG_GENERIC_PENDING_IRQ
	if (irqd_is_setaffinity_pending(&desc->irq_data))
		return desc->pending_mask;
#endif
	return irq_data_get_affinity_mask(&desc->irq_data);
}

/* Does it come to @cpu, as the chip is programmed now?  Some chips do not say. */
static bool irq_comes_to(struct irq_data *data, int cpu)
{
	const struct cpumask *now = irq_data_get_effective_affinity_mask(data);

	return cpumask_test_cpu(cpu, cpumask_empty(now) ? irq_data_get_affinity_mask(data) : now);
}

/* Applies the affinity of @desc again; true if it still may come to @cpu. */
static bool irq_reapply(struct irq_desc *desc, int cpu)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);
	const struct cpumask *wanted = isolator_irq_wanted(desc);
	bool was_set;

	lockdep_assert_held(&desc->lock);
	if (!desc->action || !irqd_is_started(data) || irqd_is_per_cpu(data))
		return false;
	/*
	 * Somebody has sent it elsewhere: some move only when they happen next, and the chip may
	 * have found no place there.
	 */
	if (!cpumask_test_cpu(cpu, wanted))
		return irq_comes_to(data, cpu);
	if (cpumask_test_cpu(cpu, &isolator_cpumask) && !irq_comes_to(data, cpu))
		return false;

	/* The flag says that somebody chose; that was not us. */
	was_set = irqd_affinity_was_set(data);
	irq_set_affinity_locked(data, wanted, false);
	if (!was_set)
		irqd_clear(data, IRQD_AFFINITY_SET);

	/* Once more on the old CPU, as above. */
	return irqd_is_setaffinity_pending(data) || irq_comes_to(data, cpu);
}

/**
 * isolator_move_irqs - lets the interrupts follow isolator_cpumask
 * @cpu: a CPU that has just come into isolator_cpumask, or left it
 *
 * Handler threads follow their interrupt by themselves.  When @cpu has left the
 * mask its interrupts may come back; where one stays is the chip's choice, as
 * after any write to smp_affinity.
 *
 * Context: process context, may sleep.
 * Return: how many interrupts may still come to @cpu: their affinity names
 * isolated CPUs only, or they move when they happen next.
 */
int isolator_move_irqs(int cpu)
{
	struct irq_desc *desc;
	unsigned int irq;
	int left = 0;

	irq_lock_sparse();
	for_each_irq_desc(irq, desc) {
		raw_spin_lock_irq(&desc->lock);
		left += irq_reapply(desc, cpu);
		raw_spin_unlock_irq(&desc->lock);
	}
	irq_unlock_sparse();

	return left;
}

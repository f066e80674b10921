// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: a stop of the machine that leaves user mode alone.
 *
 * stop_machine() promises its function that no other CPU runs the kernel meanwhile, nor
 * user mode.  Some need the first only, and ask for it by stop_machine_gated(): a CPU in user
 * mode does not run the kernel, as long as it cannot come in:
 *
 *	last CPU to be stopped			isolated CPU, entering the kernel
 *	----------------------			---------------------------------
 *	close its gate				ct->state += ... (atomic, full barrier)
 *	full barrier				read the work bits
 *	read its ct->state			closed: wait, interrupts off
 *	user: it counts as stopped		open: synchronise, go on
 *	  the function runs
 *	full barrier
 *	text is to be synced, open the gate
 *
 * Store buffering, as with any request: either the CPU is seen in the kernel, or it
 * sees the gate closed.
 *
 * Who may be left out: a CPU that is isolated and in user mode, on which the function
 * is not to run; one that is in the kernel when the stop begins is stopped as any other.
 * Until it is seen so, with all others stopped, it was only a candidate; one that has
 * entered the kernel meanwhile makes this stop a failed try.
 * A CPU in the kernel is never fenced: it may hold what the others wait for, and
 * an NMI there would wait for a stop that waits for the CPU.
 *
 * Why the gate closes so late: when all who are to be stopped have interrupts off,
 * nobody among them waits for anybody else.  Closed when the stop is asked for, a CPU at
 * its gate could be what another one spins for (a call, with preemption off), and the
 * stop would wait for that one.
 *
 * Why an NMI may wait too: it would run kernel text while the function may rewrite
 * it.  Nobody waits for an NMI's handler but from one of the stopped CPUs' own NMIs,
 * whose waits give up by themselves: a backtrace after 10 s, a crash after 1 s.  A
 * machine check is for all CPUs at once and waits at no gate: isolator_gate_pass().
 *
 * What bounds the wait: the function, which runs with interrupts off on the other
 * CPUs too.
 */
#include <linux/isolator.h>
#include <linux/panic.h>

#include "internal.h"

/*
 * So many tries fail; then a CPU that was in the kernel at the last of them, or at one since, is
 * stopped as any other.
 */
#define ISOLATOR_GATE_TRIES	4

/* Of the stop under way; stop_cpus_mutex. */
static struct cpumask isolator_gate_out;	/* left out, or to be */
static struct cpumask isolator_gate_stopped;	/* all others */
static struct cpumask isolator_gate_busy;	/* in the kernel when the gate closed */

/*
 * In user mode, from which it can be kept out of the kernel.  A quiet section runs the kernel,
 * if little of it: it is asked to leave.
 */
static bool isolator_gate_outside(int cpu)
{
	return isolator_quiet(cpu) && (!isolator_in_section(cpu) ||
				       isolator_fault(ISOLATOR_FAULT_FENCE_SECTION));
}

/**
 * isolator_gate_choose - the CPUs that a stop of the machine has to stop
 * @all: those that it would stop
 * @needed: those on which its function is to run, or NULL: any
 * @try: how many tries have failed
 *
 * Context: stop_cpus_mutex held.  Return: @all, if nobody is left out.
 */
const struct cpumask *isolator_gate_choose(const struct cpumask *all,
					   const struct cpumask *needed, unsigned int try)
{
	int cpu;

	if (!isolator_enabled())
		return all;
	/* From then on it only grows, so that the tries end. */
	if (try < ISOLATOR_GATE_TRIES)
		cpumask_clear(&isolator_gate_busy);
	cpumask_clear(&isolator_gate_out);
	for_each_cpu_and(cpu, all, &isolator_cpumask) {
		if (needed && cpumask_test_cpu(cpu, needed))
			continue;
		if (try >= ISOLATOR_GATE_TRIES && cpumask_test_cpu(cpu, &isolator_gate_busy))
			continue;
		if ((READ_ONCE(isolator_of(cpu)->mask) & ISOLATOR_MASK_IPI) &&
		    isolator_gate_outside(cpu))
			cpumask_set_cpu(cpu, &isolator_gate_out);
	}
	if (cpumask_empty(&isolator_gate_out))
		return all;
	cpumask_andnot(&isolator_gate_stopped, all, &isolator_gate_out);
	return &isolator_gate_stopped;
}

/**
 * isolator_gate_open - the function is through: who was left out may enter again
 *
 * Context: the last CPU to be through with it; or a try that failed.
 */
void isolator_gate_open(void)
{
	int cpu;

	/*
	 * What the function did, on whatever CPU, before the gate opens: pairs with the
	 * acquire of who waits there, or with the atomic on ct->state of who comes later.
	 */
	smp_mb();
	for_each_cpu(cpu, &isolator_gate_out) {
		struct isolator_hot *hot = per_cpu_ptr(&isolator_hot, cpu);

		/* The bit first: whoever finds the gate open finds it, too. */
		atomic_or(ISOLATOR_WORK_TEXT, &hot->work);
		atomic_andnot(ISOLATOR_WORK_GATE, &hot->work);
	}
}

/**
 * isolator_gate_close - can those who were left out be kept from the kernel?
 *
 * Pre: all others have interrupts off and run nothing but their stopper.
 * Post: true: each one is in user mode, or waits on its way in, until
 * isolator_gate_open(); it synchronises then, as the function may change text.  False:
 * one is in the kernel; all gates are open again.
 *
 * Context: the last CPU to disable its interrupts.
 */
bool isolator_gate_close(void)
{
	bool closed = true;
	int cpu;

	for_each_cpu(cpu, &isolator_gate_out)
		atomic_or(ISOLATOR_WORK_GATE, &per_cpu(isolator_hot, cpu).work);
	/*
	 * The gates, then the states; pairs with the atomic on ct->state at kernel entry,
	 * which then reads the gate.
	 */
	smp_mb();
	for_each_cpu(cpu, &isolator_gate_out) {
		if (isolator_gate_outside(cpu) || isolator_fault(ISOLATOR_FAULT_FENCE_KERNEL))
			continue;
		cpumask_set_cpu(cpu, &isolator_gate_busy);
		closed = false;
	}
	if (!closed || isolator_fault(ISOLATOR_FAULT_OPEN_GATE))
		isolator_gate_open();
	return closed;
}

/**
 * isolator_gate_count - account for those whom the last stop has left out
 * @func: what was run
 *
 * Context: stop_cpus_mutex held, the stop is over.
 */
void isolator_gate_count(void *func)
{
	int cpu;

	for_each_cpu(cpu, &isolator_gate_out)
		isolator_count(cpu, ISOLATOR_COUNT_EXCLUDED, func);
}

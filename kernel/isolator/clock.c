// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: clock and machine checks that visit every CPU in turn.
 *
 * The timers of the clocksource watchdog and of the TSC check go round the CPUs
 * and leave isolated ones out while they are; the machine-check timer is per
 * CPU and rests.  What they would find is found after the end: nothing is lost
 * but the time of the report.
 */
#include <linux/clocksource.h>
#include <linux/isolator.h>

#ifdef CONFIG_X86
#include <asm/mce.h>
#include <asm/tsc.h>
#endif

/**
 * isolator_clock_quiesce - sends the timers that go round away from this CPU
 * @cpu: the CPU, in isolator_cpumask already, so that none comes back
 *
 * Context: process context, may sleep.  If @cpu is no longer isolated, the restoration
 * that follows starts again what rests here.
 */
void isolator_clock_quiesce(int cpu)
{
	clocksource_watchdog_leave(cpu);
#ifdef CONFIG_X86_TSC
	tsc_sync_check_leave(cpu);
#endif
#ifdef CONFIG_X86_MCE
	mce_timer_rest(cpu);
#endif
}

/**
 * isolator_clock_restore - starts again what rested
 * @cpu: the CPU, no longer in isolator_cpumask
 *
 * Context: process context, any CPU.  A CPU that goes offline meanwhile keeps resting.
 */
void isolator_clock_restore(int cpu)
{
#ifdef CONFIG_X86_MCE
	mce_timer_resume(cpu);
#endif
}

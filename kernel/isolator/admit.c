// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: who may start, with what, and where. */
#include <linux/capability.h>
#include <linux/cpufeature.h>
#include <linux/cpumask.h>
#include <linux/isolator.h>

#include "internal.h"

/* CPUs that the administrator lets be isolated; none at boot. */
struct cpumask isolator_allowed;

/*
 * What the administrator caps, read without a lock: a start sees old or new.  As
 * delivered nobody lets others wait for longer than the defaults.
 */
struct isolator_limits isolator_limits = {
	.deadline	= ISOLATOR_DEADLINE_DEFAULT,
	.spin		= ISOLATOR_SPIN_DEFAULT,
	.refuse_perf	= true,
	.refuse_msr	= true,
};

/** isolator_may_lock - may the current task lock memory without limit?  Context: process. */
bool isolator_may_lock(void)
{
	return has_capability_noaudit(current, CAP_IPC_LOCK);
}

/** isolator_in_limits - are these times, with the defaults, what limits allow?  Context: any. */
bool isolator_in_limits(const struct isolator_start_args *args)
{
	return (args->deadline_ns == ISOLATOR_DEADLINE_NEVER ||
		args->deadline_ns <= READ_ONCE(isolator_limits.deadline)) &&
	       args->spin_ns <= READ_ONCE(isolator_limits.spin);
}

/**
 * isolator_fill_times - bounds of the times that start may ask for; fills in the defaults
 * @args: as the caller gave them
 *
 * Returns 0 or -ERANGE.  Context: any.
 */
int isolator_fill_times(struct isolator_start_args *args)
{
	u64 deadline = READ_ONCE(isolator_limits.deadline);
	u64 spin = READ_ONCE(isolator_limits.spin);

	if (!args->deadline_ns)
		args->deadline_ns = min(ISOLATOR_DEADLINE_DEFAULT, deadline);
	if (!args->spin_ns)
		args->spin_ns = min3(args->deadline_ns, ISOLATOR_SPIN_DEFAULT, spin);
	if (!args->yield_ns)
		args->yield_ns = ISOLATOR_YIELD_DEFAULT;
	if (args->deadline_ns < ISOLATOR_DEADLINE_MIN || args->spin_ns < ISOLATOR_DEADLINE_MIN ||
	    args->yield_ns > ISOLATOR_YIELD_MAX || !isolator_in_limits(args))
		return -ERANGE;
	if (args->batch_ns && (args->batch_ns < ISOLATOR_DEADLINE_MIN ||
			       args->batch_ns > ISOLATOR_DEADLINE_MAX))
		return -ERANGE;
	return 0;
}

/**
 * isolator_check_args - may the current task ask for this start?  Fills in the defaults
 * @args: as copied from the caller
 *
 * Returns 0, -EINVAL, -ERANGE, or -EPERM for strict mode and locked memory.
 * Context: process.
 */
int isolator_check_args(struct isolator_start_args *args)
{
	if (args->size != sizeof(*args) || args->flags & ~ISOLATOR_START_FLAGS ||
	    args->reserved ||
	    !args->mask || args->mask & ~ISOLATOR_MASK_ALL)
		return -EINVAL;
	if ((args->flags & ISOLATOR_START_LOCK) && !capable(CAP_IPC_LOCK))
		return -EPERM;
	if (args->deadline_ns == ISOLATOR_DEADLINE_NEVER && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	return isolator_fill_times(args);
}

/*
 * A paravirtualised guest of Xen cannot flush its TLB by what the CPU does at its kernel entry:
 * Xen keeps the translations of user mode global, and emulates CR4.
 */
static bool isolator_cannot_flush(void)
{
#ifdef CONFIG_X86
	return cpu_feature_enabled(X86_FEATURE_XENPV);
#else
	return false;
#endif
}

/**
 * isolator_check_cpu - may this CPU be isolated by the current task?
 * @cpu: the CPU it is pinned to
 *
 * Returns 0, -EACCES, -EALREADY, -EBUSY, -EAGAIN, or -EOPNOTSUPP: see isolator_begin().
 * Context: process, the CPU's mutex held; sure with isolator_mutex, which keeps off other
 * starts.
 */
int isolator_check_cpu(int cpu)
{
	struct isolator_cpu *ic = isolator_of(cpu);
	bool owned, ending;

	if (!cpumask_test_cpu(cpu, &isolator_allowed))
		return -EACCES;
	if (isolator_cannot_flush()) {
		pr_notice_once("isolator: no CPU can be isolated in a paravirtualised guest of Xen\n");
		return -EOPNOTSUPP;
	}
	/* An end changes both under the lock: seen apart, the CPU would look free. */
	raw_spin_lock_irq(&isolator_lock);
	owned = ic->owner;
	ending = ic->ending;
	raw_spin_unlock_irq(&isolator_lock);
	if (owned)
		return -EALREADY;
	if (ending || isolator_in_transition())
		return -EBUSY;
	if (isolator_timekeeper_beside(cpu) < 0)
		return -EBUSY;
	if (!tick_isolator_ready())
		return -EAGAIN;
	if (!tick_isolator_stops()) {
		pr_notice_once("isolator: no CPU can be isolated: its timer device cannot be stopped (that of a guest of Xen or Hyper-V)\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

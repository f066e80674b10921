// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "sampling/policy.h"

#define DEADLINE 6	/* SCHED_DEADLINE, which not every libc names */

/* As the kernel has it; older libcs do not, and its header has what libcs have too. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

const char *const policy_names[] = {
	[POLICY_FIFO] = "fifo",
	[POLICY_RR] = "rr",
	[POLICY_OTHER] = "other",
	[POLICY_DEADLINE] = "deadline",
	[POLICY_UNKNOWN] = "unknown",
};

static int set_real_time(enum policy_kind kind, unsigned int priority)
{
	const struct sched_param param = { .sched_priority = (int)priority };

	return sched_setscheduler(0, kind == POLICY_RR ? SCHED_RR : SCHED_FIFO, &param) ?
		errno : 0;
}

/* Half of each period is its own: no wake-up takes so long. */
static int set_deadline(uint64_t period_ns)
{
	struct attributes attr = {
		.size = sizeof(attr),
		.policy = DEADLINE,
		.runtime = period_ns / 2,
		.deadline = period_ns,
		.period = period_ns,
	};

	return syscall(SYS_sched_setattr, 0, &attr, 0) ? errno : 0;
}

static int set(const struct policy *policy)
{
	const struct sched_param none = { 0 };

	switch (policy->kind) {
	case POLICY_DEADLINE:
		return set_deadline(policy->period_ns);
	case POLICY_OTHER:
		return sched_setscheduler(0, SCHED_OTHER, &none) ? errno : 0;
	default:
		return set_real_time(policy->kind, policy->priority);
	}
}

/* What this user may have, from the best on; that it is not the first is told by got. */
static void set_best(const struct policy *policy)
{
	struct rlimit limit;

	if (!set(policy) || policy->kind != POLICY_FIFO)
		return;
	if (!getrlimit(RLIMIT_RTPRIO, &limit) && limit.rlim_cur &&
	    limit.rlim_cur < policy->priority &&
	    !set_real_time(POLICY_FIFO, (unsigned int)limit.rlim_cur))
		return;
	set_real_time(POLICY_RR, 1);
}

static void read_back(struct policy *got)
{
	struct attributes attr = { 0 };

	*got = (struct policy){ .kind = POLICY_UNKNOWN };
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0))
		return;
	got->priority = attr.priority;
	got->period_ns = attr.period;
	switch (attr.policy) {
	case SCHED_FIFO:
		got->kind = POLICY_FIFO;
		break;
	case SCHED_RR:
		got->kind = POLICY_RR;
		break;
	case SCHED_OTHER:
		got->kind = POLICY_OTHER;
		break;
	case DEADLINE:
		got->kind = POLICY_DEADLINE;
		break;
	default:
		break;
	}
}

static void refuse(const struct policy *policy, int cpu, int error, char *failure, size_t size)
{
	if (policy->kind == POLICY_DEADLINE)
		snprintf(failure, size,
			 "--policy deadline on CPU %d: %s: a thread that is bound to a CPU may have it only as root, in a cpuset partition of that CPU alone: cd /sys/fs/cgroup; echo +cpuset > cgroup.subtree_control; mkdir dl; echo %d > dl/cpuset.cpus; echo root > dl/cpuset.cpus.partition; echo $$ > dl/cgroup.procs; then again from this shell; or --policy fifo",
			 cpu, strerror(error), cpu);
	else
		snprintf(failure, size,
			 "--policy %s, priority %u: %s: %s, or allow it: ulimit -r %u (LimitRTPRIO= of systemd); without --policy it takes what it may have",
			 policy_names[policy->kind], policy->priority, strerror(error),
			 error_unless_root("give it CAP_SYS_NICE"), policy->priority);
}

bool policy_set(const struct policy *policy, int cpu, struct policy *got, char *failure,
		size_t size)
{
	int error = 0;

	if (policy->insisted)
		error = set(policy);
	else
		set_best(policy);
	read_back(got);
	/* That the kernel said yes is not yet that it did. */
	if (policy->insisted && !error &&
	    (got->kind != policy->kind || (policy->kind <= POLICY_RR &&
					   got->priority != policy->priority)))
		error = EINVAL;
	if (error)
		refuse(policy, cpu, error, failure, size);
	return !error;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs that shall be left alone, and who says so. */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>

#include "base/cpulist.h"

struct capture;

enum guard_reason {
	GUARD_NAMED,		/* on the command line; then no others are guarded */
	GUARD_ISOLATED,		/* a task is isolated there: /proc/isolator/status */
	GUARD_PARTITION,	/* of an isolated cpuset partition */
	GUARD_ISOLCPUS,
	GUARD_NOHZ_FULL,
	GUARD_SHIELD,		/* isolator shield keeps interrupts away */
	GUARD_REASONS
};

/* As they are shown, and in JSON. */
extern const char *const guard_reasons[GUARD_REASONS];

struct guard {
	struct cpulist cpus;	/* there or not */
	struct cpulist of[GUARD_REASONS];	/* which of these for which reason */
	char *unclear;		/* a boot parameter that is not understood; NULL: none */
};

/* As the machine of @capture has them now, or as @named says if that is given. */
void guard_read(struct guard *guard, struct capture *capture, const struct cpulist *named);

/*
 * Adds the CPUs that the boot parameter @name lists, behind any flags; false: there is one
 * that is not understood.
 */
bool guard_parameter(struct cpulist *list, struct capture *capture, const char *name);

void guard_free(struct guard *guard);

#endif

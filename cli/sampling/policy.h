/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the kernel schedules a measuring thread: asked for, and read back. */
#ifndef POLICY_H
#define POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of POLICY_WORDS. */
enum policy_kind { POLICY_FIFO, POLICY_RR, POLICY_OTHER, POLICY_DEADLINE, POLICY_UNKNOWN };

#define POLICY_WORDS "fifo|rr|other|deadline"

extern const char *const policy_names[];

struct policy {
	enum policy_kind kind;
	unsigned int priority;	/* of fifo and rr */
	bool insisted;		/* by an option: no other will do */
	uint64_t period_ns;	/* of deadline */
};

/*
 * Sets it for the calling thread, which is bound to @cpu; if it is not insisted on, the
 * best that this user may have.  @got is what was read back.  False: @failure says why,
 * and what helps.
 */
bool policy_set(const struct policy *policy, int cpu, struct policy *got, char *failure,
		size_t size);

#endif

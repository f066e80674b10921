/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a simulated target did: a file that is mapped, and so is whole after a kill.  It goes
 * on where a target before it ended.
 */
#ifndef TARGET_LOG_H
#define TARGET_LOG_H

#include <stdint.h>

enum target_act {
	ACT_ANSWER,	/* as it should */
	ACT_DROP,	/* no answer, on purpose */
	ACT_TWICE,	/* a second answer to the same trigger */
	ACT_EARLY,	/* an answer to a trigger that was not sent yet */
};

struct target_entry {
	uint32_t act;
	uint32_t line;
	uint32_t sequence;
	uint32_t generation;	/* of the generator that the trigger was seen of */
	uint64_t delay_ns;	/* from when the trigger was seen to just before the answer */
};

struct target_log {
	uint64_t count;
	struct target_entry acts[];
};

#endif

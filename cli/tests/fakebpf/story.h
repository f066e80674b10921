/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens on a CPU, what comes amid it, and what has to be counted of both. */
#ifndef FAKE_STORY_H
#define FAKE_STORY_H

#include "scene.h"

#define LONG 1500		/* what comes is longer than all else */

/* What a source of time has to come to. */
struct want {
	__u32 type;
	__u64 who, ns;
	const char *comm;	/* of a thread */
};

struct interruption {
	const char *name;
	void (*come)(void);
	struct want wants[3];
	bool nmi;		/* comes amid hard interrupts too */
	bool soft;		/* has softirqs, which do not come amid softirqs */
};

struct story {
	const char *name;
	void (*happen)(void);
	struct task_struct *first;
	struct want wants[5];
	__u64 lost, unexplained;
	__u64 unmatched;
	bool unknown;		/* nobody knows yet who runs */
	const char *free;	/* programs: nobody loses what comes amid these; or NULL */
	bool soft;		/* it has softirqs */
};

extern const struct story stories[];
extern const struct interruption interruptions[];
extern const size_t nr_stories, nr_interruptions;

#endif

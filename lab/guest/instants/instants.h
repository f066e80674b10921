/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program `instants` and the module lab_instants agree upon. */
#ifndef LAB_INSTANTS_H
#define LAB_INSTANTS_H

/* Requests to the isolated CPU, each of a kind that the kernel treats in its own way. */
enum instants_kind {
	INSTANTS_TEXT,		/* text_poke_sync() */
	INSTANTS_KEY,		/* a static key flips: text that the task executes changes */
	INSTANTS_TLB,		/* a kernel page is exchanged, flush_tlb_kernel_range() */
	INSTANTS_EXCLUDED,	/* kick_all_cpus_sync() */
	INSTANTS_STOP,		/* stop_machine_gated() */
	INSTANTS_CALL,		/* a call that is waited for */
	INSTANTS_ASYNC,		/* one that is not */
	INSTANTS_IRQ_WORK,
	INSTANTS_THREAD,	/* an ordinary thread of that CPU wakes up */
	INSTANTS_RESCHED,	/* one that preempts the task */
	INSTANTS_TIMER,		/* a timer that is put on that CPU */
	INSTANTS_MODULE_KINDS,
	INSTANTS_SIGNAL = INSTANTS_MODULE_KINDS,	/* by the program itself */
	INSTANTS_KINDS,
	INSTANTS_BEFORE = INSTANTS_KINDS,	/* as INSTANTS_ASYNC, queued before the trial */
	INSTANTS_COUNTERS,
};

struct instants_seen {
	unsigned int page;	/* which page is mapped */
	unsigned int key;	/* which way the static branch goes */
};

/* What the requests have led to, and what the task should see. */
struct instants_counts {
	unsigned int ran[INSTANTS_COUNTERS];
	struct instants_seen now;
};

#define INSTANTS_DEVICE	"/dev/lab_instants"
#define INSTANTS_REQUEST	0x4c01	/* argument: enum instants_kind */
#define INSTANTS_LOOK		0x4c02	/* struct instants_seen * */
#define INSTANTS_LEAVE		0x4c03	/* the same, and leave a timer behind */
#define INSTANTS_COUNTS		0x4c04	/* struct instants_counts * */
#define INSTANTS_CANCEL		0x4c05	/* the timer that was left behind */

#endif

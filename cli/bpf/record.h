/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs in the kernel (noise.bpf.c) and the command share: who took how much
 * time on which CPU, and what was lost to a task at one stretch.  All times are in ns, of
 * CLOCK_MONOTONIC.
 */
#ifndef RECORD_H
#define RECORD_H

#define RECORD_FRAMES 16	/* the thread, and what is nested in it; a power of two */
#define RECORD_PARTS 16		/* of one loss that are told apart */
#define RECORD_BUCKETS 40	/* of powers of two: the last is for 2^39 ns and all above */
#define RECORD_NAME 32
#define RECORD_STACK 24
#define RECORD_CPUS 8192

enum record_type {
	RECORD_IRQ,		/* who: its number */
	RECORD_VECTOR,		/* an enum record_vector */
	RECORD_IPI,		/* the address of its reason */
	RECORD_CALL,		/* the address of a function, as in the next ones */
	RECORD_SOFTIRQ,		/* its number */
	RECORD_TASKLET,
	RECORD_HRTIMER,
	RECORD_TIMER,
	RECORD_WORK,
	RECORD_FAULT,		/* an enum record_fault; takes no time */
	RECORD_NMI,		/* the address of a handler */
	RECORD_MIGRATION,	/* the name of a thread, as in the next ones; takes no time */
	RECORD_PREEMPTION,	/* it ran, and another one would have gone on */
	RECORD_THREAD,		/* it ran, and nobody waited */
	RECORD_TYPES,
};

enum record_vector {
	RECORD_LOCAL_TIMER, RECORD_RESCHEDULE, RECORD_CALL_FUNCTION, RECORD_CALL_SINGLE,
	RECORD_IRQ_WORK, RECORD_PLATFORM, RECORD_THERMAL, RECORD_THRESHOLD, RECORD_DEFERRED,
	RECORD_ERROR, RECORD_SPURIOUS, RECORD_VECTORS,
};

enum record_fault { RECORD_FAULT_USER, RECORD_FAULT_KERNEL, RECORD_FAULTS };

#define RECORD_OTHERS (~0ULL)	/* who: all that the table had no room for */

struct record_key {
	__u32 cpu;
	__u32 type;
	__u64 who[2];
};

/* Who wanted something of a CPU. */
struct record_sender {
	__u64 ns;
	__s32 cpu;
	__s32 pid;		/* 0: none was seen, or an idle CPU */
	__s32 stack;		/* its number; below 0: none */
	__u32 known;
	char comm[16];
};

struct record_tally {
	__u64 count, total_ns;
	__u64 worst_ns, worst_at_ns;	/* when it ended */
	__u64 buckets[RECORD_BUCKETS];
	char name[RECORD_NAME];	/* where an address is not enough */
	struct record_sender sender;	/* of the worst */
};

/* Of a loss, the same type and who together. */
struct record_part {
	__u32 type;
	__s32 pid;		/* of a thread */
	__u64 who[2];
	__u64 ns, longest_ns;
	char name[RECORD_NAME];	/* as of a tally */
	struct record_sender sender;	/* of the longest */
};

/* From the moment that a task no longer ran by itself to that at which it did again. */
struct record_loss {
	__u64 from_ns, to_ns;	/* 0: there is none, it is not over */
	__u64 number;		/* of those of its CPU, from 0 */
	__u64 rest_ns;		/* of parts that had no room */
	__u32 cpu;
	__s32 pid;		/* whose it is */
	__u32 nr_parts;
	__u32 moved;		/* it ended on another CPU */
	struct record_part parts[RECORD_PARTS];
};

struct record_frame {
	__u32 type;
	__u32 known;
	__u64 who[2];
	__u64 match;		/* its begin and its end both name it */
	__u64 name;
	__u64 sender;		/* what its sender was noted by; 0: nobody notes it */
	__u64 since_ns;
	__u64 nested_ns;	/* of it, what was not its own */
	__u64 before_ns;	/* its own, before its thread was switched out */
};

/* What was going on in a thread that was switched out. */
#define RECORD_KEPT 4

struct record_kept {
	__u32 count;
	__u32 pad;
	struct record_frame frames[RECORD_KEPT];
};

/* Of one measured CPU; only programs on it write here. */
struct record_state {
	__u32 depth;		/* frames above the thread, which is the first */
	__u32 waiting;		/* a thread was switched out that would have gone on */
	__s32 pid;		/* of the thread that runs */
	__u32 counts;		/* what is taken from it is a loss */
	__u32 measured;		/* it is the one that was asked for */
	__u32 adding;		/* a part to a loss */
	struct record_frame frames[RECORD_FRAMES];
	struct record_loss loss;
	struct record_kept kept;	/* room to make one: the stack has 512 bytes in all */
	__u64 losses, lost_ns, worst_ns, worst_at_ns;
	__u64 buckets[RECORD_BUCKETS];
	__u64 above;		/* losses above the threshold */
	__u64 dropped;		/* of these, those that the ring had no room for */
	__u64 events;
	__u64 unmatched;	/* ends without a begin, begins without an end */
	__u64 crowded;		/* counted among others, as the table was full */
	__u64 uncounted;	/* not counted at all */
	__u64 unseen;		/* switches that the kernel did not report */
	__u64 sampled, sampled_ns;	/* what events cost, of one in 64 */
};

#define RECORD_SAMPLE 64

#endif

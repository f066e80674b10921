/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Isolator: a CPU that nothing interrupts.
 *
 * A thread that is pinned to one CPU opens /dev/isolator and asks, with
 * ISOLATOR_IOC_START, that nothing interrupts it in user mode.  From then on it
 * promises ISOLATOR_IOC_TICK at least once per deadline.  The page that mmap()
 * of the same device gives says whether a tick would have anything to do.
 */
#ifndef _UAPI_LINUX_ISOLATOR_H
#define _UAPI_LINUX_ISOLATOR_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* What is kept away from the CPU: the mask of start. */
#define ISOLATOR_MASK_CLOCK	(1U << 0)	/* tick, timers, watchdogs */
#define ISOLATOR_MASK_RESCHED	(1U << 1)	/* wake-ups, signals, preemption */
#define ISOLATOR_MASK_IPI	(1U << 2)	/* cross-calls, irq_work, TLB, text */
#define ISOLATOR_MASK_ALL	(ISOLATOR_MASK_CLOCK | ISOLATOR_MASK_RESCHED | \
				 ISOLATOR_MASK_IPI)

/* What a tick makes up for. */
#define ISOLATOR_TICK_SCHED	(1U << 0)	/* accounting, CPU timers, limits */
#define ISOLATOR_TICK_YIELD	(1U << 1)	/* yield the CPU to its own threads */
#define ISOLATOR_TICK_TSC_SYNC	(1U << 2)	/* this CPU's part in clock upkeep */
#define ISOLATOR_TICK_ALL	(ISOLATOR_TICK_SCHED | ISOLATOR_TICK_YIELD | \
				 ISOLATOR_TICK_TSC_SYNC)

/* What start achieved beside the mask. */
#define ISOLATOR_GOT_WATCHDOG	(1U << 0)	/* lockup detectors are off here */
#define ISOLATOR_GOT_TIMEKEEPER	(1U << 1)	/* another CPU keeps the time */
#define ISOLATOR_GOT_TASKS	(1U << 2)	/* no movable task is left here */
#define ISOLATOR_GOT_IRQS	(1U << 3)	/* no device interrupt is left here */
#define ISOLATOR_GOT_MM		(1U << 4)	/* others keep off our memory */
#define ISOLATOR_GOT_LOCKED	(1U << 5)	/* all our memory is locked */
#define ISOLATOR_GOT_RCU	(1U << 6)	/* no RCU callback is left here */

/* isolator_start_args.flags */
/* Each kernel entry of the task's own is a tick, where one is due. */
#define ISOLATOR_START_AUTO_TICK	(1U << 0)
/* Lock the task's memory, now and later (CAP_IPC_LOCK). */
#define ISOLATOR_START_LOCK		(1U << 1)
/* What siblings unmap waits for the next tick, and they do not. */
#define ISOLATOR_START_QUARANTINE	(1U << 2)
#define ISOLATOR_START_FLAGS		(ISOLATOR_START_AUTO_TICK | ISOLATOR_START_LOCK | \
					 ISOLATOR_START_QUARANTINE)

/* isolator_start_args.deadline_ns: never a deadline miss for what only sleeps. */
#define ISOLATOR_DEADLINE_NEVER	(~0ULL)

/**
 * struct isolator_start_args - ISOLATOR_IOC_START
 * @size: in: sizeof(struct isolator_start_args); it grows at its end, E2BIG: not known
 * @mask: in: ISOLATOR_MASK_*, at least one
 * @flags: in: ISOLATOR_START_*
 * @achieved: out: the part of @mask that is in force
 * @got: out: ISOLATOR_GOT_*
 * @cpu: out: the CPU that is isolated
 * @depth: out: how many starts are to be undone by as many stops
 * @reserved: in: 0
 * @deadline_ns: in: D, 0 for the default, ISOLATOR_DEADLINE_NEVER for strict mode
 *	(CAP_SYS_ADMIN), at most 1 s unless limits say otherwise; out: what is in force
 * @spin_ns: in: D_spin, 0 for the default, at most 100 ms likewise; out: in force
 * @yield_ns: in: how long a tick may yield the CPU, 0 for the default; out: what
 *	is in force
 * @batch_ns: in: the period of planned interruptions, 0 for none: all that is due
 *	then is delivered by one, and counted as planned.  Implies a tick of its own.
 *
 * A nested start only adds to the mask; its flags must be 0, its times 0 or those
 * in force.
 */
struct isolator_start_args {
	__u32 size;
	__u32 mask;
	__u32 flags;
	__u32 achieved;
	__u32 got;
	__s32 cpu;
	__u32 depth;
	__u32 reserved;
	__u64 deadline_ns;
	__u64 spin_ns;
	__u64 yield_ns;
	__u64 batch_ns;
};

/**
 * struct isolator_tick_args - ISOLATOR_IOC_TICK
 * @size: in: sizeof(struct isolator_tick_args)
 * @flags: in: ISOLATOR_TICK_*
 * @yield_ns: in: budget of this tick, 0 for that of start
 * @due: out: ISOLATOR_DUE_* that this tick found
 * @left: out: ISOLATOR_DUE_* that remain, because the budget ran out
 * @yielded_ns: out: how long the CPU was yielded
 */
struct isolator_tick_args {
	__u32 size;
	__u32 flags;
	__u64 yield_ns;
	__u32 due;
	__u32 left;
	__u64 yielded_ns;
};

/**
 * struct isolator_stop_args - ISOLATOR_IOC_STOP
 * @size: in: sizeof(struct isolator_stop_args)
 * @depth: out: starts that are still to be undone; 0: isolation has ended
 */
struct isolator_stop_args {
	__u32 size;
	__u32 depth;
};

/* isolator_task_args.flags */
#define ISOLATOR_TASK_EXEC	(1U << 0)	/* at the task's next exec, not now */
#define ISOLATOR_TASK_WAIT	(1U << 1)	/* until it has started or cannot */

/**
 * struct isolator_task_args - ISOLATOR_IOC_START_TASK, ISOLATOR_IOC_STOP_TASK
 * @size: in: sizeof(struct isolator_task_args)
 * @flags: in: ISOLATOR_TASK_*; of stop: 0
 * @tid: in: whom, 0 for the caller; pinned to its CPU by the time of the start
 * @reserved: in: 0
 * @start: in and out: as of ISOLATOR_IOC_START; out only with ISOLATOR_TASK_WAIT
 *
 * The start takes effect at the task's next return to user mode, or at that of the
 * program that it executes next.  One at a time: EALREADY while another waits.  It obeys the
 * limits of then (ERANGE).  An exec by which the task gets more rights takes it back, EPERM to
 * who waits, unless who asked may trace any task (CAP_SYS_PTRACE).
 */
struct isolator_task_args {
	__u32 size;
	__u32 flags;
	__s32 tid;
	__u32 reserved;
	struct isolator_start_args start;
};

#define ISOLATOR_IOC_START	_IOWR(0xB9, 0x01, struct isolator_start_args)
#define ISOLATOR_IOC_TICK	_IOWR(0xB9, 0x02, struct isolator_tick_args)
#define ISOLATOR_IOC_STOP	_IOWR(0xB9, 0x03, struct isolator_stop_args)
#define ISOLATOR_IOC_START_TASK	_IOWR(0xB9, 0x04, struct isolator_task_args)
#define ISOLATOR_IOC_STOP_TASK	_IOWR(0xB9, 0x05, struct isolator_task_args)

/* Bits of isolator_page.due. */
#define ISOLATOR_DUE_CALL	(1U << 0)	/* queued cross-calls, irq_work */
#define ISOLATOR_DUE_RESCHED	(1U << 1)	/* threads of this CPU wait */
#define ISOLATOR_DUE_SIGNAL	(1U << 2)	/* signal, ptrace, task work */
#define ISOLATOR_DUE_TIMER	(1U << 3)	/* a timer of this CPU is due */
#define ISOLATOR_DUE_CLOCK	(1U << 4)	/* limits or CPU timers to check */
#define ISOLATOR_DUE_QUARANTINE	(1U << 5)	/* what siblings unmapped waits to be freed */
#define ISOLATOR_DUE_NOW	(1U << 6)	/* of the kernel's quiet sections: leave at once */

enum isolator_state {
	ISOLATOR_STATE_OFF,
	ISOLATOR_STATE_ON,
	ISOLATOR_STATE_ENDED,
};

enum isolator_end {
	ISOLATOR_END_NONE,
	ISOLATOR_END_STOP,		/* isolator_stop() */
	ISOLATOR_END_EXIT,		/* exit, crash, SIGKILL */
	ISOLATOR_END_EXEC,
	ISOLATOR_END_AFFINITY,		/* cpuset or affinity took the CPU */
	ISOLATOR_END_HOTPLUG,		/* the CPU goes offline */
	ISOLATOR_END_SYSTEM,		/* suspend, hibernation, reboot, kexec */
	ISOLATOR_END_ADMIN,		/* an administrator's write to cpus, a stop by another */
};

#define ISOLATOR_PAGE_MAGIC	0x4953304cU
#define ISOLATOR_PAGE_VERSION	1

/**
 * struct isolator_page - what mmap() of /dev/isolator shows, read-only
 * @magic: ISOLATOR_PAGE_MAGIC
 * @version: ISOLATOR_PAGE_VERSION
 * @due: ISOLATOR_DUE_*; 0: a tick has nothing to do
 * @state: enum isolator_state
 * @end: enum isolator_end
 * @cpu: the CPU
 * @reserved: 0; what senders write is not in the cache line that a loop looks at
 * @ticks: ticks that entered the kernel
 * @queued: requests that waited for a tick or a kernel entry
 * @deferred: requests that were done at once, and by the CPU at its next kernel entry
 * @excluded: requests that have no effect on a CPU in user mode
 * @missed: requests that a real interrupt delivered at a deadline
 * @immediate: requests that are always delivered at once
 * @yields: how often the CPU was yielded
 * @planned: planned interruptions, one a batch period
 *
 * The page of the calling thread's isolation; it can be mapped from start on
 * and outlives the end.  Counters only grow.
 */
struct isolator_page {
	__u32 magic;
	__u32 version;
	__u32 due;
	__u32 state;
	__u32 end;
	__u32 cpu;
	__u64 reserved[5];
	__u64 ticks;
	__u64 queued;
	__u64 deferred;
	__u64 excluded;
	__u64 missed;
	__u64 immediate;
	__u64 yields;
	__u64 planned;
};

#endif /* _UAPI_LINUX_ISOLATOR_H */

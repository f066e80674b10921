/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libisolator: a CPU that nothing interrupts.
 *
 * A thread that is pinned to one CPU calls isolator_start().  From then on
 * nothing interrupts it in user mode, as long as it calls isolator_tick() at
 * least once per deadline.  All state is per thread: each call is about the
 * thread that makes it, but for isolator_start_task() and isolator_stop_task().
 *
 * Calls that return int return a negative errno value on failure;
 * isolator_strerror() says what to do about it.
 */
#ifndef ISOLATOR_H
#define ISOLATOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/isolator.h>

#include <isolator/alloc.h>
#include <isolator/channel.h>
#include <isolator/inbox.h>
#include <isolator/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The short names of the tick flags; define ISOLATOR_NO_SHORT_NAMES without. */
#ifndef ISOLATOR_NO_SHORT_NAMES
#define TICK_SCHED	ISOLATOR_TICK_SCHED
#define TICK_YIELD		ISOLATOR_TICK_YIELD
#define TICK_TSC_SYNC	ISOLATOR_TICK_TSC_SYNC
#define TICK_ALL	ISOLATOR_TICK_ALL
#endif

/* Leave memory unlocked: its first touches and reclaim then interrupt. */
#define ISOLATOR_OPT_NO_MLOCK		(1U << 0)
/* Do not touch the stack beforehand. */
#define ISOLATOR_OPT_NO_PREFAULT	(1U << 1)
/* Siblings that unmap memory do not wait: it is freed after the next tick. */
#define ISOLATOR_OPT_QUARANTINE		(1U << 2)

/**
 * struct isolator_options - what isolator_start_opts() is asked for
 * @size: sizeof(struct isolator_options); ISOLATOR_OPTIONS_INIT sets it
 * @mask: ISOLATOR_MASK_*
 * @flags: ISOLATOR_OPT_*
 * @stack_bytes: how much stack to touch beforehand, 0 for 64 KiB
 * @deadline_ns: the deadline D, 0 for the system's default,
 *	ISOLATOR_DEADLINE_NEVER for strict mode (CAP_SYS_ADMIN)
 * @spin_ns: the deadline of senders that spin, 0 for the default
 * @yield_ns: how long a tick may yield the CPU to its own kernel threads, 0 for
 *	the default
 * @device: path of the device, NULL for /dev/isolator
 */
struct isolator_options {
	uint32_t size;
	uint32_t mask;
	uint32_t flags;
	uint32_t stack_bytes;
	uint64_t deadline_ns;
	uint64_t spin_ns;
	uint64_t yield_ns;
	const char *device;
};

#define ISOLATOR_OPTIONS_INIT \
	{ sizeof(struct isolator_options), ISOLATOR_MASK_ALL, 0, 0, 0, 0, 0, NULL }

/**
 * struct isolator_task_options - what isolator_start_task() is asked for
 * @size: sizeof(struct isolator_task_options); ISOLATOR_TASK_OPTIONS_INIT sets it
 * @mask: ISOLATOR_MASK_*
 * @flags: ISOLATOR_TASK_*: at the next exec, and whether to wait for the start
 * @start_flags: ISOLATOR_START_*: ticks at kernel entries, locked memory
 * @deadline_ns: as of struct isolator_options
 * @spin_ns: the same
 * @yield_ns: the same
 * @batch_ns: the period of planned interruptions, 1 ms to 1 h, each of which delivers
 *	all that is due; 0 for none
 */
struct isolator_task_options {
	uint32_t size;
	uint32_t mask;
	uint32_t flags;
	uint32_t start_flags;
	uint64_t deadline_ns;
	uint64_t spin_ns;
	uint64_t yield_ns;
	uint64_t batch_ns;
};

#define ISOLATOR_TASK_OPTIONS_INIT \
	{ sizeof(struct isolator_task_options), ISOLATOR_MASK_ALL, ISOLATOR_TASK_WAIT, \
	  ISOLATOR_START_AUTO_TICK | ISOLATOR_START_LOCK, 0, 0, 0, 0 }

/**
 * struct isolator_result - what a start achieved
 * @size: in: sizeof(struct isolator_result); ISOLATOR_RESULT_INIT sets it
 * @achieved: the part of the mask that is in force
 * @got: ISOLATOR_GOT_*
 * @cpu: the CPU that is isolated
 * @depth: how many starts are to be undone by as many stops
 * @reserved: 0
 * @deadline_ns: the deadline in force
 * @spin_ns: the deadline of spinning senders in force
 * @yield_ns: the budget of the yield of a tick in force
 * @batch_ns: the period of planned interruptions in force, 0 for none
 */
struct isolator_result {
	uint32_t size;
	uint32_t achieved;
	uint32_t got;
	int32_t cpu;
	uint32_t depth;
	uint32_t reserved;
	uint64_t deadline_ns;
	uint64_t spin_ns;
	uint64_t yield_ns;
	uint64_t batch_ns;
};

#define ISOLATOR_RESULT_INIT \
	{ sizeof(struct isolator_result), 0, 0, -1, 0, 0, 0, 0, 0, 0 }

/**
 * struct isolator_tick_result - what isolator_tick_opts() did
 * @due: ISOLATOR_DUE_* that it found
 * @left: ISOLATOR_DUE_* that remain because the budget ran out
 * @yielded_ns: how long the CPU was yielded
 */
struct isolator_tick_result {
	uint32_t due;
	uint32_t left;
	uint64_t yielded_ns;
};

/*
 * The calling thread's page; one that says ISOLATOR_STATE_OFF before the first
 * start.  Use isolator_page(), isolator_due() and isolator_tick() instead.
 */
extern __thread const struct isolator_page *isolator_thread_page;

/* Isolate the calling thread's CPU.  Returns the part of @mask in force. */
int isolator_start(unsigned int mask);

/* The same with all its options; @result may be NULL. */
int isolator_start_opts(const struct isolator_options *options,
			struct isolator_result *result);

/* Undo one start.  Returns how many are still to be undone. */
int isolator_stop(void);

/*
 * Isolate the CPU that another thread is pinned to, or will be at its next exec;
 * @options may be NULL, and so may @result.  Returns the part of the mask in force, 0
 * without ISOLATOR_TASK_WAIT.
 */
int isolator_start_task(pid_t tid, const struct isolator_task_options *options,
			struct isolator_result *result);

/* End another thread's isolation, however often it was started; take back one that
 * waits for its exec.  Returns 0.
 */
int isolator_stop_task(pid_t tid);

/* Enter the kernel for a tick, whether anything is due or not.  Returns what
 * remains due.
 */
int isolator_tick_now(unsigned int flags);

/* The same with a budget for the yield, 0 for that of start; @result may be NULL. */
int isolator_tick_opts(unsigned int flags, uint64_t yield_ns,
		       struct isolator_tick_result *result);

/*
 * The calling thread's shared page, also after the end; NULL before a start.  In
 * C++ write `struct isolator_page` for the type: the function has its name.
 */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
const struct isolator_page *isolator_page(void);
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/* What to do about the error that a call in this thread returned; never NULL. */
const char *isolator_strerror(int error);

/* Why isolation ended, for enum isolator_end; never NULL. */
const char *isolator_strend(unsigned int end);

/*
 * @due and @state of the page as one word, so that "isolated and nothing due"
 * is one load and one comparison, and an isolation that ended is never taken
 * for one that has nothing due.
 */
typedef uint64_t __attribute__((__may_alias__)) isolator_word_t;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ISOLATOR_WORD_DUE_SHIFT		0
#define ISOLATOR_WORD_STATE_SHIFT	32
#else
#define ISOLATOR_WORD_DUE_SHIFT		32
#define ISOLATOR_WORD_STATE_SHIFT	0
#endif
#define ISOLATOR_WORD_IDLE \
	((uint64_t)ISOLATOR_STATE_ON << ISOLATOR_WORD_STATE_SHIFT)

static inline uint64_t isolator_word(void)
{
	return __atomic_load_n((const isolator_word_t *)&isolator_thread_page->due,
			       __ATOMIC_RELAXED);
}

/* What a tick would have to do: ISOLATOR_DUE_*; 0 also when not isolated. */
static inline unsigned int isolator_due(void)
{
	uint64_t word = isolator_word();

	if ((uint32_t)(word >> ISOLATOR_WORD_STATE_SHIFT) != ISOLATOR_STATE_ON)
		return 0;
	return (uint32_t)(word >> ISOLATOR_WORD_DUE_SHIFT);
}

/*
 * Do what is due.  With nothing due: one load of the page, no kernel entry.
 * Returns what remains due, because the yield budget ran out.
 */
static inline int isolator_tick(unsigned int flags)
{
	if (__builtin_expect(isolator_word() == ISOLATOR_WORD_IDLE, 1))
		return 0;
	return isolator_tick_now(flags);
}

#ifdef __cplusplus
}
#endif

#endif /* ISOLATOR_H */

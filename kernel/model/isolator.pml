/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol between senders and one isolated CPU, as a Promela model.
 *
 *   sender                                target
 *   queue the request                     entry: state = KERNEL
 *   mark itself, set the work bit         ---- full barrier ----
 *   ---- full barrier ----                read the work bits, do what was deferred, run
 *   read the target's state
 *   USER: queue    KERNEL: interrupt it    exit: state = USER
 *   unmark itself                         ---- full barrier ----
 *                                         wait for marks to go, look again
 *
 * Four processes beside the target: two senders of cross-calls that are
 * deferred, excluded or queued; one client of a kernel thread of that CPU; the
 * watcher of the deadline D.  A sender that spins is its own watcher (D_spin).
 *
 * Safety (assertions):
 *   stale	 kernel code that may be patched or unmapped never runs on state
 *		 that a sender was told is synchronised; nor in a walk that one was
 *		 told is over
 *   quiet	 no interrupt in user mode but a deadline miss
 *   lost	 what was queued before a kernel entry has run when it returns; what a
 *		 sender takes for done has run
 *   avoided	 what user mode has no need of is never queued
 *   yielded  a thread that waited before a tick has run when the tick returns
 *   drained	 nothing is left behind on the CPU at the return to user mode
 *   alone	 nobody runs the kernel while the function of a stopped machine does
 * Liveness (ltl, weak fairness): every request ends, every thread runs, nothing
 * stays on the CPU;
 * a gate opens again, and a stop ends.
 *
 * Which world (one of them, default TICKS and deadlines):
 *   NEVER_TICKS	the task spins for ever: deadlines alone end requests
 *   NO_DEADLINE	ticks alone end requests
 *   NMI		NMIs arrive, from user mode and amid the entry code
 *   LATE_ARRIVAL	an interrupt reaches its CPU some time after it was sent
 *   LATE_SELF		... also one that the target has sent to itself
 *   KICK_ONCE		a flag for the interrupt under way instead of counters
 *   STOPS		the machine is stopped, and leaves the target out in user mode
 *   SYNC_ENTRY		no sender of a text sync sets a bit: each entry synchronises; arm64
 *   OTHER_TASK		the isolated task sleeps at times, and another runs in user mode
 * Which fault, see kernel/model/check: SKIP_DEFERRED, DROP_QUEUED, LOSE_WAKEUP,
 * NO_YIELD, LEAVE_CALLBACK, NO_SENDER_MARK, NO_SENDER_BARRIER, NO_ENTRY_BARRIER,
 * NO_EXIT_BARRIER (store buffer of the target's state), COUNT_FIRST,
 * CLEAR_AFTER, CLEAR_FIRST, NMI_USER_ONLY, QUEUE_AVOIDED, ARMED_FIRST, ARMED_TAKES,
 * IGNORE_GATE, OPEN_GATE, FENCE_KERNEL, KEEP_GATE, EARLY_GATE, SYNC_AT_EXCEPTION,
 * ISB_ONLY, SYNC_ARMED, WINDOW_ONLY, LEFT_ONLY, RAISE_TWO.
 *
 * Left out: start and end, the bypass of panic and hot-plug, and two targets
 * (they share nothing but senders).  Memory is sequentially consistent but for
 * the store buffer named above, so barriers that are not planted as faults are
 * shown to be needed, not to be the only ones.
 */
#define N 2

/* Which sender sends what: one that is synchronised with, one that is queued. */
#if defined(TEXTS)
#define SYNC(i)	true
#define HELD(i)	false
#elif defined(CALLS)
#define SYNC(i)	false
#define HELD(i)	true
#else
#define SYNC(i)	(i == 0)
#define HELD(i)	(i == 1)
#endif

/* Where a deadline interrupts; a task that is not isolated has its own ticks. */
#define ISOLATED_USER	(state == USER && armed)

mtype = { USER, KERNEL };
mtype = { TEXT, WALK, CALL, ASYNC };

/* What the CPUs share. */
mtype state = USER;
bool armed = true;		/* the task that runs is the isolated one, made quiet */
byte senders;			/* marks */
bool work_text, work_queued;	/* work bits */
bool queued[N], done[N];
bool unseen;			/* hot->sent != hot->seen */
bool kick;			/* KICK_ONCE: an interrupt is under way */
bool due;			/* the page's due word */
bool since, thread_since;	/* stamps, under one lock: changed in one step */
bool yield_required;
bool thread_waits;		/* a kthread of the target's CPU is runnable */

/* The interrupt controller: sent for itself, by an NMI's doing, by a deadline miss, by a stop. */
bool wire, wire_excused, latched, latched_excused, latched_miss, latched_self, latched_stop;
/* LATE_SELF: irq_work of the target's own, and what the target notes of it. */
bool wire_self, wire_own, latched_own, own_left, own_raised;

/* The target's own. */
bool pending;			/* taken from work_text, not yet done */
bool in_nmi;			/* ... on top of user mode */

/* Ghosts: what is true, whatever the code believes. */
bool stale[N];			/* the target has not synchronised since the change */
bool must[N];			/* ... and its sender was told that it is done */
bool body;			/* patched or unmapped things may be touched */
bool old_walk[N];		/* a walk that began before the request goes on */
bool ran[N], waited_before[N], waits[N];
bool thread_before, local_state;
bool requested[N];
bool spins[N];			/* the sender is not to be stopped before it is through */
bool user_mode;

/* --- the state word, with a store buffer of one entry where a fault wants it --- */
#if defined(NO_ENTRY_BARRIER) || defined(NO_EXIT_BARRIER) || defined(SYNC_ENTRY)
bool buffered;
mtype buffer;

/* A locked instruction or a full barrier: the buffer is empty after it. */
inline drain()
{
	if
	:: buffered -> state = buffer; buffered = false
	:: else
	fi
}

active proctype store_buffer()
{
end:	do
	:: d_step { buffered -> state = buffer; buffered = false }
	od
}

inline set_state_plain(new)
{
	d_step { drain(); buffer = new; buffered = true }
}
#else
inline drain() { skip }
inline set_state_plain(new) { assert(false) }
#endif

inline set_state(new)
{
	d_step { drain(); state = new }
}

inline state_kernel()
{
#if defined(NO_ENTRY_BARRIER) || defined(SYNC_ENTRY)
	set_state_plain(KERNEL)
#else
	set_state(KERNEL)
#endif
}

inline state_user()
{
#ifdef NO_EXIT_BARRIER
	set_state_plain(USER)
#else
	set_state(USER)
#endif
}

/* A stop of the machine. */
bool gate;			/* the work bit */
bool others_stopped;		/* all but the target have interrupts off */
bool in_person;			/* the target is wanted, too */
bool stopping, at_gate;		/* the stop is under way; the target waits for its end */
bool alone;			/* ghost: its function runs */
bool stop_stale;		/* ghost: and changed text, since when nobody has synchronised */
bool nmi_body;			/* ghost: as body, of an NMI */

#include "target.pml"
#include "sender.pml"
#ifdef STOPS
#include "stop.pml"
#endif

init
{
#if defined(THREADS)
	run sender(1)
#elif defined(TEXT_ONLY)
	run sender(0)
#elif defined(CALL_ONLY)
	run sender(1)
#else
	atomic { run sender(0); run sender(1) }
#endif
}

#ifdef LIVENESS
/*
 * Where the task has to come back to user mode and go in again, interrupts that
 * keep its CPU in the kernel for ever, one at each return, are left out.
 */
#ifdef NEVER_TICKS
/* ... and the watcher's timer at last meets the CPU in user mode. */
#define RETURNS	(([] <> user_mode) && \
		 (([] <> (thread_since && state == USER)) -> ([] <> !thread_since)))
#else
#define RETURNS	([] <> user_mode)
#endif
ltl requests_end { [] (requested[1] -> <> !requested[1]) }
ltl synchronised { [] (requested[0] -> <> !requested[0]) }
ltl threads_run { RETURNS -> [] (thread_waits -> <> !thread_waits) }
ltl gate_opens { [] (at_gate -> <> !at_gate) }
ltl stop_ends { [] (stopping -> <> !stopping) }
ltl state_is_drained { [] (local_state -> <> !local_state) }
#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The quarantine of what siblings of an isolated task remove, as a Promela model: when
 * may a page be freed, and its address be used again?  See kernel/isolator/quarantine.c.
 *
 *   removal                               isolated CPU
 *   clear the page table                  entry: state = KERNEL
 *   take a number, set the work bit       ---- full barrier ----
 *   ---- full barrier ----                take the bit: note it as pending first
 *   read the CPU's state                  read the last number
 *   USER: quarantine  KERNEL: interrupt   flush, publish the number, nothing is pending
 *
 * A page goes on when the published number has reached its removal's, or when the CPU has
 * neither the bit nor anything pending, looked at in this order.
 *
 * The TLB is filled from the page table, and used, at any time, as both are done
 * speculatively; in user mode the task relies on it.  Each of two removers has an
 * address and two pages.
 *
 * Safety (assertions):
 *   foreign	 the TLB leads to no page that is free
 *   reused	 nor elsewhere than the page table, where that has a page
 * Every process ends: no removal waits for ever while the task ticks.
 *
 * Worlds: NMI, one arrives at any time.  ENDS, the isolation ends at any time, and a removal
 * is listed, to be freed by who looks at the list: after each flush, and after the end.
 *   kept	 nothing is left in it when all are through
 * Which fault, see kernel/model/check: FREE_AT_ONCE,
 * REUSE_AT_ONCE, NUMBER_FIRST, READ_AFTER_FLUSH, CLEAR_BEFORE_NOTE, PENDING_FIRST;
 * with an NMI FORGET_TAKEN: it does what was noted, and a bit that was set since is cleared
 * with the others; who clears it flushes, noted or not.  With ENDS LIST_LATE: it is decided
 * that a removal waits, and listed later.
 */
#define N 2
#ifndef ROUNDS
#ifdef ENDS
#define ROUNDS 1
#else
#define ROUNDS 2
#endif
#endif

mtype = { USER, KERNEL };

mtype state = USER;
bool work, pending;		/* the work bit, and what was taken of it */
byte removals, flushed;		/* the last number, and the published one */
byte pte[N], tlb[N];		/* a page, 0: none */
bool freed[2 * N + 1];
bool entering;			/* interrupts are off */
bool nmi;			/* it runs: the CPU does nothing else */
byte running = N;		/* removers */
bool isolated = true;		/* ENDS: until it has ended */
bool ended;			/* and the list was looked at */
byte listed[N];			/* a removal's number, 0: none */

#define owner(i, round)	(1 + 2 * (i) + (round) % 2)

inline flush()
{
	tlb[0] = 0;
	tlb[1] = 0;
}

/* __isolator_run_deferred(); @on: this is what the CPU does just now. */
inline run_deferred(on, took, last)
{
	atomic { on -> took = work };
#ifdef CLEAR_BEFORE_NOTE
	atomic { on -> if :: took -> work = false :: else fi };
	atomic { on -> pending = pending || took };
#else
	atomic { on -> pending = pending || took };
	atomic { on -> if :: took -> work = false :: else fi };
#endif
	if
#ifdef FORGET_TAKEN
	:: atomic { on && pending -> skip };
#else
	:: atomic { on && (took || pending) -> skip };
#endif
#ifdef READ_AFTER_FLUSH
		atomic { on -> flush() };
		atomic { on -> last = removals };
#else
		atomic { on -> last = removals };
		atomic { on -> flush() };
#endif
		atomic { on -> if :: flushed < last -> flushed = last :: else fi };
		atomic { on -> pending = false }
#ifdef FORGET_TAKEN
	:: atomic { on && !pending -> skip }
#else
	:: atomic { on && !(took || pending) -> skip }
#endif
	fi
}

/* A call that interrupts the CPU, in user mode or with interrupts on. */
inline interrupt()
{
	atomic {
		!entering && !nmi ->
		flush();
		if
		:: flushed < removals -> flushed = removals
		:: else
		fi;
		work = false;
		pending = false
	}
}

#define owes(number)	(isolated && flushed < (number) && (work || pending))

/* isolator_reap(), under the lock. */
inline reap()
{
	atomic {
		if
		:: listed[0] && !owes(listed[0]) -> freed[owner(0, 0)] = true; listed[0] = 0
		:: else
		fi;
		if
		:: listed[1] && !owes(listed[1]) -> freed[owner(1, 0)] = true; listed[1] = 0
		:: else
		fi
	}
}

active proctype target()
{
	bool took;
	byte last;

	do
#ifdef ENDS
	:: atomic { !nmi && state == KERNEL -> isolated = false };
		reap();
		ended = true;
		break
	:: atomic { !nmi && state == KERNEL -> state = USER }
	:: atomic { !nmi && state == USER -> state = KERNEL; entering = true };
		run_deferred(!nmi, took, last);
		atomic { !nmi -> entering = false }
#else
	:: atomic { !nmi && state == USER && running == 0 -> break }
	:: atomic { !nmi && state == USER -> state = KERNEL; entering = true };
		run_deferred(!nmi, took, last);
		atomic { !nmi -> entering = false };
		atomic { !nmi -> state = USER }
#endif
	od
}

/* The page walker, and the task's accesses. */
active [N] proctype user()
{
	byte i = _pid - 1;

end:	do
	:: atomic { tlb[i] == 0 && pte[i] != 0 -> tlb[i] = pte[i] }
	:: atomic {
		tlb[i] != 0 ->
		assert(!freed[tlb[i]]);			/* foreign */
		assert(state != USER || nmi || pte[i] == 0 || pte[i] == tlb[i]); /* reused */
	   }
	od
}

#ifdef ENDS
/* isolator_quarantine_poll() */
active proctype poll()
{
	byte reaped;

	do
	:: flushed != reaped -> reaped = flushed;
		reap()
	:: running == 0 && ended && flushed == reaped -> break
	od;
	assert(!listed[0] && !listed[1]);	/* kept */
}
#endif

#ifdef NMI
active proctype arrives()
{
	mtype before;
	bool took;
	byte last;

	if
	:: atomic { !nmi -> nmi = true; before = state; state = KERNEL };
		run_deferred(true, took, last);
		atomic { state = before; nmi = false }
	:: skip
	fi;
}
#endif

/* isolator_cpu_flushed(), each look for itself. */
inline wait_flushed(number, seen)
{
	do
	:: flushed >= number -> break
#ifdef PENDING_FIRST
	:: flushed < number -> seen = pending;
		seen = seen || work;
#else
	:: flushed < number -> seen = work;
		seen = seen || pending;
#endif
		if
		:: !seen -> break
		:: else
		fi
	od
}

proctype remover(byte i)
{
	byte round, number;
	bool deferred, seen;

	do
	:: round < ROUNDS ->
		freed[owner(i, round)] = false;
		pte[i] = owner(i, round);
#ifdef NUMBER_FIRST
		atomic { removals++; number = removals };
		pte[i] = 0;
#else
		pte[i] = 0;
		atomic { removals++; number = removals };
#endif
		work = true;
		deferred = (state == USER);
		if
		:: !deferred -> interrupt()
		:: deferred ->
#ifndef REUSE_AT_ONCE
#ifndef FREE_AT_ONCE
#ifdef ENDS
			/* isolator_list() */
#ifdef LIST_LATE
			seen = owes(number);
#endif
			atomic {
#ifndef LIST_LATE
				seen = owes(number);
#endif
				if
				:: seen -> listed[i] = number
				:: else
				fi
			}
#else
			wait_flushed(number, seen)
#endif
#else
			skip
#endif
#else
			skip
#endif
		fi;
#ifndef REUSE_AT_ONCE
		atomic {
			if
			:: listed[i] == 0 || freed[owner(i, round)] -> freed[owner(i, round)] = true
			:: else
			fi
		}
#endif
		round++
	:: else -> break
	od;
	running--
}

init {
	atomic { run remover(0); run remover(1) }
}

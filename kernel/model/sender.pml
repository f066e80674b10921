/* SPDX-License-Identifier: GPL-2.0-only */
/* The other CPUs: senders of requests, both watchers, the interrupt controller. */

/* --- senders --- */

#ifdef LATE_ARRIVAL
active proctype interrupt_controller()
{
end:	do
	:: d_step { wire -> wire = false; latched = true }
	:: d_step { wire_excused -> wire_excused = false; latched_excused = true }
#ifdef LATE_SELF
	:: d_step { wire_self -> wire_self = false; latched_self = true }
	:: d_step { wire_own -> wire_own = false; latched_own = true }
#endif
	od
}
#endif

/* A real interrupt.  One sent because of an NMI arrives when that is over. */
inline send()
{
	d_step {
		if
		:: KICKED
		:: else ->
			kick = KICKS;
			if
#ifdef LATE_ARRIVAL
			:: saw_nmi -> wire_excused = true
			:: else -> wire = true
#else
			:: saw_nmi -> latched_excused = true
			:: else -> latched = true
#endif
			fi
		fi
	}
}

/* Is a work bit set for the target to synchronise?  Else each of its entries does. */
#ifdef SYNC_ENTRY
#define NEEDS_BIT	false
#else
#define NEEDS_BIT	(kind == TEXT)
#endif

/* The request was told to be done though the target did nothing: was that true? */
inline told(i)
{
	d_step {
		assert(!(body && stale[i]));	/* stale */
		assert(!old_walk[i]);		/* stale */
		must[i] = must[i] || stale[i]
	}
}

/*
 * Is the isolated task in user mode?  The state first: with another task there, one
 * that was read as armed before says nothing about whose user mode is seen then.
 */
inline look()
{
#if !defined(OTHER_TASK)
	d_step { seen = state; saw_nmi = in_nmi; was_armed = armed }
#elif defined(ARMED_FIRST)
	was_armed = armed;
	d_step { seen = state; saw_nmi = in_nmi }
#else
	d_step { seen = state; saw_nmi = in_nmi };
	was_armed = armed
#endif
}

/* Queue or send.  Interrupts are off from the mark to the unmark. */
inline queue_or_send(i)
{
#ifndef NO_SENDER_MARK
	senders++;
#endif
#ifdef NO_SENDER_BARRIER
	look();
	work_queued = true;
#else
#ifdef LOSE_WAKEUP
	if
	:: state == USER
	:: else -> work_queued = true
	fi;
#else
	work_queued = true;
#endif
	look();
#endif
	if
	:: seen == USER && was_armed ->
		/* Stamp it: the page says due, the watchers see its age. */
		d_step {
			assert(kind == CALL || kind == ASYNC);	/* avoided */
			since = true; due = true;
			waits[i] = queued[i]
		}
	:: else ->
#ifdef COUNT_FIRST
		unseen = true; send()
#else
		send(); unseen = true
#endif
	fi;
#ifdef NO_SENDER_MARK
	d_step { seen = 0; saw_nmi = false; was_armed = false }
#else
	d_step { senders--; seen = 0; saw_nmi = false; was_armed = false }
#endif
}

/*
 * A request that user mode has no need of, which saw the kernel at first: looked at
 * again under the mark, so that it is done or sent, but never queued.
 */
inline avoid_or_send(i, avoided)
{
	senders++;
	work_text = work_text || NEEDS_BIT;
	look();
	if
	:: seen == USER && was_armed -> told(i); avoided = true
	:: else ->
		queued[i] = true;
		send(); unseen = true
	fi;
	d_step { senders--; seen = 0; saw_nmi = false; was_armed = false }
}

/* What a deadline miss sends: it may interrupt user mode. */
inline deliver()
{
	d_step {
		if
		:: KICKED
		:: else -> kick = KICKS; latched_miss = true
		fi
	}
}

/* What a stop sends: the others wait for it. */
inline send_stop()
{
	d_step {
		if
		:: KICKED
		:: else -> kick = KICKS; latched_stop = true
		fi
	}
}

/* A deadline has passed with the request pending and the target quiet. */
inline deadline_miss()
{
	d_step { since && ISOLATED_USER -> since = false };
	deliver()
}

/* Whom a stop waits for at last makes room for it. */
#ifdef LIVENESS
#define MAY_BEGIN	(!stopping)
#else
#define MAY_BEGIN	(!others_stopped)
#endif

proctype sender(byte i)
{
	mtype kind, seen;
	bool saw_nmi, avoided, was_armed;

end:	do
	:: atomic { MAY_BEGIN ->
		if
		:: SYNC(i) -> kind = TEXT
		:: SYNC(i) -> kind = WALK
		:: HELD(i) -> kind = CALL
		:: HELD(i) -> kind = ASYNC
		fi;
		d_step {
			requested[i] = true; ran[i] = false; done[i] = false;
			spins[i] = true;
			stale[i] = stale[i] || kind == TEXT;
			old_walk[i] = kind == WALK && body
		}
		};
		if
		:: kind == TEXT || kind == WALK ->
#ifdef NO_SENDER_BARRIER
			look();
			work_text = work_text || NEEDS_BIT;
#else
			work_text = work_text || NEEDS_BIT;
			look();
#endif
			if
			:: seen == USER && was_armed -> told(i); goto next
			:: else -> d_step { seen = 0; saw_nmi = false; was_armed = false }
			fi;
#ifndef QUEUE_AVOIDED
			avoid_or_send(i, avoided);
			if
			:: avoided -> goto next
			:: else -> goto sent
			fi
#endif
		:: else
		fi;
#ifdef DROP_QUEUED
		if
		:: kind == ASYNC && state == USER -> done[i] = true
		:: else -> queued[i] = true; queue_or_send(i)
		fi;
#else
		queued[i] = true;
		queue_or_send(i);
#endif
sent:
		spins[i] = kind != ASYNC;
		do
		:: done[i] -> break
#ifndef NO_DEADLINE
		:: kind != ASYNC && !done[i] && since && ISOLATED_USER ->
			if
			:: deadline_miss()
			:: !since || !ISOLATED_USER
			fi
#endif
		od;
		assert(ran[i]);		/* lost */
next:		skip;
		d_step {
			requested[i] = false; spins[i] = false; old_walk[i] = false;
			done[i] = false; ran[i] = false; seen = 0; kind = 0;
			avoided = false; saw_nmi = false; was_armed = false
		}
	od
}

/* Queues work for a kernel thread of the target's CPU and waits for it. */
#ifdef THREADS
active proctype client()
{
end:	do
	:: !thread_waits ->
		d_step { thread_waits = true; thread_since = true; due = true };
		!thread_waits
	od
}
#endif

#ifndef NO_DEADLINE
/* One process a kind, as the real one looks at every kind in each period. */
active proctype watcher()
{
end:	do
	:: since && ISOLATED_USER ->
		if
		:: deadline_miss()
		:: !since || !ISOLATED_USER
		fi
	od
}

#ifdef THREADS
active proctype thread_watcher()
{
end:	do
	:: d_step { thread_since && ISOLATED_USER ->
		   thread_since = false; yield_required = true };
		deliver()
	od
}
#endif
#endif

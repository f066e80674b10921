/* SPDX-License-Identifier: GPL-2.0-only */
/* The isolated CPU: kernel entry, deferred work, what was queued, the return; NMIs. */

/* --- the target: deferred work, NMI --- */

/* sync_core() or a TLB flush: all changes made before are seen from here on. */
inline synchronise()
{
	stale[0] = false; stale[1] = false; must[0] = false; must[1] = false;
	stop_stale = false
}

/* Instrumentable code begins: nobody may have been told wrong. */
inline begin_body()
{
	assert(!must[0] && !must[1]);	/* stale */
	assert(!stop_stale);		/* stale */
	assert(!alone)			/* alone */
}

/*
 * SYNC_ENTRY: each entry of the isolated CPU synchronises, whose user mode it may be, as arm64's.
 * The state first reaches the others (DSB), then what was fetched is dropped (ISB).  The
 * exception that led here is a synchronisation too, but of before the state says kernel.
 */
#ifdef SYNC_AT_EXCEPTION
#define ENTRY_SYNCS	false
#elif defined(SYNC_ARMED)
#define ENTRY_SYNCS	armed
#else
#define ENTRY_SYNCS	true
#endif

#ifdef SYNC_ENTRY
inline sync_entry()
{
	if
	:: ENTRY_SYNCS ->
#ifdef ISB_ONLY
		d_step { synchronise() };
		d_step { drain() }
#else
		d_step { drain() };
		d_step { synchronise() }
#endif
	:: else ->
		/* The change of the state is a barrier for data, though for no fetch. */
		d_step { drain() }
	fi
}
#endif

/* While the machine is stopped nobody comes in. */
inline wait_gate()
{
#if defined(STOPS) && !defined(IGNORE_GATE)
	at_gate = gate;
	!gate;
	at_gate = false
#else
	skip
#endif
}

/* An NMI, where `from_user`: on top of user mode.  Only deferred work runs in it. */
inline nmi(from_user)
{
#ifdef NMI
	if
	:: d_step {
		if
		:: from_user -> in_nmi = true; drain(); state = KERNEL
		:: else
		fi
	   };
#if defined(STOPS) && !defined(IGNORE_GATE)
	   !gate;
#endif
#ifdef NMI_USER_ONLY
	   if
	   :: from_user && work_text -> d_step { pending = true; work_text = false };
		d_step { synchronise(); pending = false }
	   :: else
	   fi;
#else
	   if
	   :: work_text || pending -> d_step { pending = true; work_text = false };
		d_step { synchronise(); pending = false }
	   :: else
	   fi;
#endif
#ifdef SYNC_ENTRY
	   sync_entry();
#endif
	   d_step { begin_body(); nmi_body = true };
	   d_step {
		nmi_body = false;
		if
		:: from_user -> drain(); state = USER
		:: else
		fi;
		in_nmi = false
	   }
	:: true
	fi
#else
	skip
#endif
}

/*
 * First thing in the kernel.  The bits are taken before the work is done, so that
 * one set again is seen again; `pending` tells an NMI in between what is not done.
 */
inline catch_up()
{
	nmi(false);
	wait_gate();
#ifdef SKIP_DEFERRED
	skip;
#else
	if
	:: work_text ->
#ifdef CLEAR_AFTER
		d_step { synchronise() };
		d_step { drain(); work_text = false }
#else
#ifdef CLEAR_FIRST
		d_step { drain(); work_text = false };
#else
		d_step { pending = true };
		d_step { drain(); work_text = false };
#endif
		nmi(false);
		d_step { synchronise(); pending = false }
#endif
	:: else
	fi;
#endif
#ifdef SYNC_ENTRY
	sync_entry();
#endif
	d_step { begin_body(); body = true }
}

/* --- the target: queued requests and interrupts --- */

/* The call-function interrupt: the whole queue, in the kernel, interrupts off. */
inline run_queue()
{
	d_step {
		drain();
		if
		:: queued[0] -> queued[0] = false; ran[0] = true; old_walk[0] = false;
			done[0] = true; waits[0] = false; waited_before[0] = false;
			stale[0] = false
		:: else
		fi;
		if
		:: queued[1] -> queued[1] = false; ran[1] = true; old_walk[1] = false;
			done[1] = true; waits[1] = false; waited_before[1] = false;
			stale[1] = false
		:: else
		fi
	}
}

/* What the exit path looks at when it looks again. */
#ifdef LATE_SELF
#if defined(LEFT_ONLY) || defined(WINDOW_ONLY)
#define RACED	(work_queued || kick || own_left)
#else
#define RACED	(work_queued || kick || own_left || own_raised)
#endif
#define KICKED	kick
#define KICKS	true
#elif defined(KICK_ONCE)
#define RACED	(work_queued || kick)
#define KICKED	kick		/* one under way will do: send no other */
#define KICKS	true
#else
#define RACED	(work_queued || unseen)
#define KICKED	false
#define KICKS	false
#endif

#define LATCHED (latched || latched_excused || latched_miss || latched_self || latched_stop || \
		 latched_own)

inline take_latched()
{
	d_step {
		drain();
		if
		:: latched_own -> own_raised = false
		:: else
		fi;
		if	/* of another number than a call's */
		:: latched || latched_excused || latched_miss || latched_self || latched_stop ->
			kick = false; in_person = false
		:: else
		fi;
		latched = false; latched_excused = false; latched_miss = false;
		latched_self = false; latched_stop = false; latched_own = false
	};
	run_queue()
}

/*
 * The kernel, or an interrupt's handler, may raise irq_work on its own CPU.  One that is
 * under way will do: of two, the first would take the note of the other along.
 */
#ifdef RAISE_TWO
#define OWN_RAISED	false
#else
#define OWN_RAISED	own_raised
#endif
#define RAISE_OWN							\
	d_step {							\
		own_left = true;					\
		if							\
		:: OWN_RAISED						\
		:: else -> own_raised = true; wire_own = true		\
		fi							\
	}

inline raise_own()
{
	if
	:: RAISE_OWN
	:: true
	fi
}

/* LATE_SELF: interrupts are on for long, and what arrives is taken. */
inline proper()
{
#ifdef LATE_SELF
	do
	:: LATCHED -> take_latched()
	:: RAISE_OWN
	:: break
	od
#else
	window()
#endif
}

/* Interrupts are on for a moment: what is latched is taken. */
inline window()
{
#ifdef LATE_SELF
	do
	:: LATCHED -> take_latched(); raise_own()
#ifdef WINDOW_ONLY
	:: !LATCHED -> break
#else
	:: !LATCHED && !kick && !own_raised -> break
#endif
	od;
	/* One more handler runs ahead of the end of this. */
	raise_own();
	own_left = false
#else
#ifdef KICK_ONCE
	/* An interrupt under way will arrive: that much can be waited for. */
	!kick || LATCHED;
#endif
	if
	:: LATCHED ->
		d_step {
			drain();
			latched = false; latched_excused = false;
			latched_miss = false; latched_self = false;
			latched_stop = false; in_person = false;
			kick = false
		};
		run_queue()
	:: else
	fi
#endif
}

#ifdef LATE_SELF
#define SEND_SELF	wire_self
#else
#define SEND_SELF	latched_self
#endif

/* After an entry from user mode: what was queued becomes a self-interrupt. */
inline take_queued()
{
	if
	:: work_queued ->
		/* A marked sender may not have stamped yet. */
		senders == 0;
		d_step {
			drain();
			work_queued = false; since = false;
			due = thread_waits;
			if	/* one that is under way will do */
			:: KICKED
			:: else -> kick = KICKS; SEND_SELF = true
			fi
		}
	:: else
	fi
}

/* The CPU goes to its threads until none waits. */
inline yield_cpu()
{
#ifdef NO_YIELD
	skip
#else
	d_step {
		thread_waits = false; thread_before = false;
		thread_since = false; due = since
	}
#endif
}

/*
 * The isolated task sleeps: another one runs, which interrupts are taken from and
 * whose returns look at nothing.  What was queued for it by a mistake runs at its next
 * entry all the same, unless only the isolated task's entries take it.
 */
inline another_task()
{
	armed = false;
	do
	:: atomic {
		body = false; old_walk[0] = false; old_walk[1] = false;
		state_user()
	   };
#ifdef SYNC_ENTRY
	   d_step { synchronise() };	/* the exception */
#endif
	   atomic {
		waited_before[0] = waits[0]; waited_before[1] = waits[1];
		state_kernel()
	   };
	   catch_up();
#ifndef ARMED_TAKES
	   take_queued();
#endif
	   window();
	   assert(!waited_before[0] && !waited_before[1])		/* lost */
	:: break
	od
}

active proctype target()
{
	bool tick;

user:	/* Interrupts on. */
	user_mode = true;
	nmi(true);
end_user:
	if
	:: LATCHED ->
		assert(!latched && !latched_self && !latched_own);	/* quiet */
		tick = false
#ifndef NEVER_TICKS
	:: due -> tick = true
	:: true -> tick = true	/* a tick that need not be, a system call */
#endif
#ifdef NMI
	:: true -> goto user
#endif
	fi;

#ifdef SYNC_ENTRY
	d_step { synchronise() };	/* the exception */
#endif
	atomic {
		user_mode = false;
		waited_before[0] = waits[0]; waited_before[1] = waits[1];
		thread_before = thread_waits;
		state_kernel()
	};
	catch_up();
	take_queued();
	proper();
	if
	:: tick && thread_waits -> yield_cpu()
	:: else
	fi;
#ifdef OTHER_TASK
	if
	:: another_task()
	:: true
	fi;
#endif
#ifdef THREADS
	if	/* it may leave something on this CPU that others wait for */
	:: local_state = true
	:: true
	fi;
#endif

quiet:	/* Make the CPU quiet again. */
	if
	:: yield_required -> yield_required = false; yield_cpu()
	:: else
	fi;
#ifndef LEAVE_CALLBACK
	local_state = false;
#endif
#if defined(SYNC_ENTRY) && defined(OTHER_TASK)
	/* The isolated task comes back: left out from here on, though the kernel still runs. */
	armed = true;
#endif
	/* Interrupts off, noinstr, to the return. */
	atomic {
#ifdef LATE_SELF
		raise_own();
#endif
		if	/* a thread that waits keeps a tick due */
		:: thread_waits -> due = true; thread_since = true
		:: else
		fi;
		body = false; old_walk[0] = false; old_walk[1] = false;
		armed = true;
		state_user()
	};
	senders == 0;
	if
	:: RACED ->
		set_state(KERNEL);
		catch_up();
		take_queued();
		unseen = false;
		window();
		goto quiet
	:: else
	fi;
	d_step {
		assert(!waited_before[0] && !waited_before[1]);		/* lost */
		assert(!(tick && thread_before));	/* yielded */
		assert(!local_state);					/* drained */
		thread_before = false
	};
	goto user
}

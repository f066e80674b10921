/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A quiet section of the kernel, as a Promela model: user mode to all senders, but interrupts
 * are off in it.  What would interrupt user mode asks it to leave, and waits.
 *
 *   sender                                target
 *   mark itself                           section = true
 *   section: ask it to leave now          state = USER
 *   send the interrupt, latched           ---- full barrier ----
 *   unmark itself                         wait for marks to go, look again
 *                                         until due or now: loop
 *                                         state = KERNEL, do what was deferred
 *                                         section = false, interrupts on
 *
 * Safety: stale and alone, as in isolator.pml.  That nobody waits for a loop that was not
 * told: it would wait for ever, a deadlock, as the loop leaves for nothing else.
 *
 * Which world, beside the sender of calls: TEXTS, STOPS, by default an end from outside.
 * Which fault: NOT_TOLD, LATE_FLAG, NO_MARK, UNSYNCED_LEAVE, PATCHED_SECTION,
 * FENCE_SECTION.
 */
mtype = { USER, KERNEL };

mtype state = KERNEL;
bool section;			/* that user mode is a quiet section */
byte senders;			/* marks */
bool work_text, work_queued;	/* work bits */
bool due, now;			/* the due word */
bool queued;			/* a call, in its queue */
bool kick, latched;		/* an interrupt is under way; it has arrived */
bool wanted;			/* the stopper's thread is runnable */
bool stopped;			/* ... and spins, as a stop of the machine wants */
bool gate;

/* Ghosts. */
bool stale, must;		/* text has changed; and somebody was told that it is synchronised */
bool body, quiet_body;		/* the kernel runs; a section does */
bool interrupted;		/* what was sent has been taken */

inline synchronise() { stale = false; must = false }

/* First thing in the kernel; the gate is of a stop that leaves this CPU out. */
inline catch_up()
{
	!gate;
#ifndef UNSYNCED_LEAVE
	if
	:: work_text -> d_step { work_text = false; synchronise() }
	:: else
	fi;
#endif
	d_step { assert(!must); body = true }	/* stale */
}

/* Interrupts on. */
inline window()
{
	if
	:: latched ->
		d_step { latched = false; kick = false; interrupted = true; queued = false;
			 synchronise() }
	:: else
	fi;
	if
	:: wanted -> d_step { stopped = true; body = false };
		!stopped;
		body = true
	:: else
	fi
}

inline over()
{
	section = false;
	now = false;
	senders == 0;
	if
	:: work_queued ->
		d_step { work_queued = false; due = false; kick = true; latched = true }
	:: else
	fi;
	window()
}

active proctype target()
{
	body = true;
kernel:	window();
enter:
#ifdef LATE_FLAG
	skip;
#else
	section = true;
#endif
	d_step { body = false; state = USER };
	senders == 0;
	if
	:: work_queued || kick ->
		state = KERNEL;
		catch_up();
		over();
		goto enter
	:: else
	fi;
#ifdef LATE_FLAG
	section = true;
#endif
#ifdef PATCHED_SECTION
	body = true;
#endif
	quiet_body = true;
end:	due || now;
	quiet_body = false;
	body = false;
	state = KERNEL;
	catch_up();
	over();
	due = false;		/* the tick */
	goto kernel
}

/* A real interrupt, which a section does not take. */
inline send()
{
#ifndef NOT_TOLD
	if
	:: section -> now = true
	:: else
	fi;
#endif
	d_step {
		if
		:: kick
		:: else -> kick = true; latched = true
		fi
	}
}

/* A request that waits in its place, or interrupts. */
inline queue_or_send()
{
	senders++;
	work_queued = true;
	seen = state;
	if
	:: seen == USER -> due = true
	:: else -> send()
	fi;
	senders--
}

active proctype caller()
{
	mtype seen;

end:	do
	:: !queued -> queued = true; queue_or_send(); !queued
	:: break
	od
}

#if !defined(TEXTS) && !defined(STOPS)
/* An end of the isolation, SIGKILL: at once. */
active proctype ender()
{
end:	do
	:: true ->
		interrupted = false;
#ifndef NO_MARK
		senders++;
#endif
		send();
#ifndef NO_MARK
		senders--;
#endif
		interrupted
	:: break
	od
}

#endif

#ifdef TEXTS
/* A change of text: done at once, where the target needs none of it. */
active proctype patcher()
{
	mtype seen;

end:	do
	:: stale = true;
		work_text = true;
		seen = state;
		if
		:: seen == USER ->
			d_step { assert(!(body && stale)); must = stale }	/* stale */
		:: else -> senders++; send(); senders--; !stale
		fi
	:: break
	od
}
#endif

#ifdef STOPS
/* A stop of the machine: its function relies on being alone in the kernel. */
active proctype stopper()
{
	mtype seen;

end:	do
	:: true ->
#ifdef FENCE_SECTION
		gate = true;
		if
		:: state == USER -> assert(!body && !quiet_body)	/* alone */
		:: else
		fi;
		work_text = true;
		gate = false;
#endif
		wanted = true;
		queue_or_send();
		if
		:: section -> now = true
		:: else
		fi;
		stopped;
		assert(!body && !quiet_body);		/* alone */
		d_step { wanted = false; stopped = false }
	:: break
	od
}
#endif

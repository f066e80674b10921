/* SPDX-License-Identifier: GPL-2.0-only */
/* A stop of the machine that leaves the target out while that is in user mode. */

/* Nobody spins any more, with interrupts on or off, and nobody begins. */
inline stop_others()
{
	atomic { !spins[0] && !spins[1] -> others_stopped = true }
}

inline close_gate()
{
	gate = true;
	d_step { seen = state; was_armed = armed }
}

inline open_gate()
{
	work_text = true;
	d_step { gate = false; others_stopped = false }
}

/* The target is out, or waits on its way in. */
inline run_function()
{
	d_step {
		assert(!body && !nmi_body);		/* alone */
		alone = true; stop_stale = true
	};
	alone = false
}

/* The target's stopper runs, which it is interrupted for. */
inline stop_in_person()
{
	in_person = true;
	send_stop();
	!in_person
}

active proctype stopper()
{
	mtype seen;
	bool was_armed;

end:	do
	:: true ->
		stopping = true;
#ifdef EARLY_GATE
		close_gate();
		stop_others();
#else
		stop_others();
		close_gate();
#endif
#ifdef OPEN_GATE
		gate = false;
#endif
#ifdef FENCE_KERNEL
		run_function(); open_gate();
#else
		if
		:: seen == USER && was_armed -> run_function(); open_gate()
		:: else ->
#ifdef KEEP_GATE
			others_stopped = false;
			stop_in_person();
			gate = false
#else
			open_gate();
			stop_in_person()
#endif
		fi;
#endif
		d_step { stopping = false; seen = 0; was_armed = false }
	od
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows of the observer on the worker's CPU: the test says which one is wanted, and the worker
 * goes there in user mode.  MARK_WINDOW_TABLE() is the test's.
 */
#ifndef LAB_WINDOWS_H
#define LAB_WINDOWS_H

#include "../marker.h"
#include "../test.h"

/* The window that is wanted, and the last in which the worker has done its part; 0: none yet. */
static _Atomic unsigned int wanted, window;

/* Until the worker has been there. */
static inline void window_go(unsigned int number)
{
	wanted = number;
	until(window == number);
}

/*
 * The worker's: leave the window it is in for the one that is wanted, behind a probe that stands
 * outside of both; @over is none.  Returns 0, or the number of a new one: the worker does its
 * part there, then says so by @window.
 */
static inline unsigned int window_turn(unsigned int over)
{
	unsigned int now = wanted;

	if (now == window)
		return 0;
	if (!window)
		mark_target();
	else
		mark_window_end(window);
	mark_probe();
	syscall(SYS_getpid);
	if (now != over)
		mark_window_begin(now);
	return now;
}

#endif

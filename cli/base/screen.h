/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A terminal that one program has for itself, and leaves as it was, however it ends. */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>

enum screen_key {
	SCREEN_NONE,		/* no key, or one without a meaning */
	SCREEN_UP = 0x100,
	SCREEN_DOWN,
	SCREEN_CLOSED,		/* there will be no more */
};

/* Are stdin and stdout a terminal that can be written over? */
bool screen_possible(void);

/*
 * Takes such a terminal: keys come one by one, and what was shown comes back with
 * screen_close().  After wait_prepare().  0, or -1, said why.
 */
int screen_open(void);

/* Gives the terminal back; also by exit(), and by signals that end the program. */
void screen_close(void);

/* After WAIT_SIGNAL: obeys Ctrl-Z, and takes the terminal anew when it goes on. */
void screen_signal(void);

/* The next key that was typed: a character or enum screen_key; SCREEN_NONE: no more. */
int screen_key(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text for people: colours, units, and a terminal that is written over. */
#ifndef TERM_H
#define TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TERM_TIME 16

/* May @out be coloured?  Only a terminal, and only without NO_COLOR. */
bool term_colours(FILE *out);

enum term_style { TERM_PLAIN, TERM_BOLD, TERM_RED, TERM_DIM };

/* The sequence that switches to @style; "" unless @colours. */
const char *term_style(bool colours, enum term_style style);

/* @ns with its unit, three digits: 12.3 us.  Returns @text. */
const char *term_time(char text[TERM_TIME], uint64_t ns);

/* Writes what a stranger named, such that it cannot steer a terminal. */
void term_put(FILE *out, const char *text);

/* Makes of @text what that would print. */
void term_clean(char *text);

/* How many lines and columns the terminal @out has; 24 and 80 where it does not say. */
void term_size(FILE *out, unsigned int *rows, unsigned int *columns);

/* Replaces what the terminal @out shows by @text, cut to its size. */
void term_show(FILE *out, const char *text);

/* As term_show() for a screen of @rows lines of @columns, without touching a cursor. */
void term_cut(FILE *out, const char *text, unsigned int rows, unsigned int columns,
	      const char *end_of_line);

/*
 * @text with lines of at most @columns characters, broken at blanks, each part with the
 * blanks that its line began with.  Returns how many lines there are.
 */
unsigned int term_fold(FILE *out, const char *text, unsigned int columns);

#endif

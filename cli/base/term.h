/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text for people: colours, units, and a terminal that is written over. */
#ifndef TERM_H
#define TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TERM_TIME 16
#define TERM_COLUMNS 100	/* the most that a line of text has */
#define TERM_HANG 4		/* how much further a line goes on that was broken */

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

/* Is there nothing to be cleaned? */
bool term_is_clean(const char *text);

/* How many lines and columns the terminal @out has; 24 and 80 where it does not say. */
void term_size(FILE *out, unsigned int *rows, unsigned int *columns);

/* Replaces what the terminal @out shows by @text, cut to its size. */
void term_show(FILE *out, const char *text);

/* As term_show() for a screen of @rows lines of @columns, without touching a cursor. */
void term_cut(FILE *out, const char *text, unsigned int rows, unsigned int columns,
	      const char *end_of_line);

/* How many columns a line of text to @out may have: TERM_COLUMNS, or a narrower terminal's. */
unsigned int term_columns(FILE *out);

/*
 * @text with lines of at most @columns characters, broken at blanks, but not within a short
 * command; what follows a break has the blanks that its line began with, and @hang more.
 * Returns how many lines there are.
 */
unsigned int term_fold(FILE *out, const char *text, unsigned int columns, unsigned int hang);

/* A text that is collected, and then written to a stream with lines that fit there. */
struct term_folded {
	FILE *stream;	/* to be written to */
	char *text;
	size_t size;
};

void term_folded_open(struct term_folded *folded);
void term_folded_close(struct term_folded *folded, FILE *out);

#endif

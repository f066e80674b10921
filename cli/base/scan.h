/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes a text of /proc/isolator apart, in place: lines of words with one space
 * between, most of them a key and its value.
 */
#ifndef SCAN_H
#define SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan {
	const char *file;	/* for messages */
	unsigned int line;
	char *next;		/* the next line */
	char *at;		/* what is left of this line; NULL: nothing */
};

enum scan_type {
	SCAN_NUMBER,	/* to.number; decimal, or hexadecimal with 0x */
	SCAN_INTEGER,	/* to.integer; decimal, may be negative */
	SCAN_WORD,	/* to.text */
	SCAN_SYMBOL,	/* to.text; may be followed by its module: " [kvm]" */
	SCAN_REST,	/* to.text; all that is left of the line */
};

struct scan_key {
	const char *name;
	enum scan_type type;
	union {
		uint64_t *number;
		int *integer;
		const char **text;
	} to;
	bool optional;
	bool seen;
};

/* On to the next line; false: there is none. */
bool scan_line(struct scan *scan);

/* The next word; NULL: the line has no more. */
char *scan_word(struct scan *scan);

/* As scan_word(), with the module that may follow a symbol: "name [kvm]". */
char *scan_symbol(struct scan *scan);

/* 0 or -1, said why: the next word is no number. */
int scan_number(struct scan *scan, const char *what, uint64_t *number);

/*
 * The keys that are left of the line, each once and in any order; those not asked
 * for are passed over.  0 or -1, said why: a value is missing or wrong, or a key is.
 */
int scan_keys(struct scan *scan, struct scan_key *keys, size_t count);

/*
 * Passes over the rest of a line that begins with @word, which a newer kernel may
 * have added.  0 or -1, said why: it is no name.
 */
int scan_pass(struct scan *scan, const char *word);

/* Says that the file is none of Isolator's, where and why.  Returns -1. */
int scan_fail(const struct scan *scan, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif

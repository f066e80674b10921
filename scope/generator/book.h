/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account: what became of each trigger, on each line.  No clock and no memory of the
 * target's in here: whoever calls says what happened and when.
 */
#ifndef BOOK_H
#define BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"
#include "scope_lines.h"

#define BOOK_OPEN 8192u		/* triggers that may wait for answers at a time */
#define BOOK_HISTORY 65536u	/* triggers that an answer may still belong to */

struct book_line {
	uint64_t answered, late, missing, strays;
};

struct book_trigger {
	uint64_t at_ns;
	uint32_t jitter_ns;
	uint32_t mask;
	uint32_t answered;	/* lines, by whatever record */
};

struct book_open {
	uint8_t nr_answers;
	struct answer answers[SCOPE_LINES_MAX];
};

struct book {
	uint64_t newest;	/* trigger; 0: none yet */
	uint64_t closed;	/* all up to this one are */
	uint32_t base;		/* sequence.h */
	struct book_line lines[SCOPE_LINES_MAX];
	void (*emit)(void *to, const struct record *record);
	void *to;
	struct book_trigger history[BOOK_HISTORY];	/* by number % BOOK_HISTORY */
	struct book_open open[BOOK_OPEN];		/* by number % BOOK_OPEN */
};

/* An empty one; records go to @emit, triggers' in order of their numbers. */
void book_begin(struct book *book, uint32_t base, void (*emit)(void *, const struct record *),
		void *to);

/* The next trigger was sent.  When too many are open the oldest is closed. */
void book_trigger(struct book *book, uint64_t at_ns, uint32_t jitter_ns, uint32_t mask);

/*
 * @sequence was seen on @line at @now.  @unsure: the caller was away before.  It belongs to
 * the trigger of that sequence, once and if that line was expected to answer, or to none.
 */
void book_answer(struct book *book, unsigned int line, uint32_t sequence, uint64_t now,
		 bool unsure);

/* Closes what waited longer than @patience_ns. */
void book_expire(struct book *book, uint64_t now, uint64_t patience_ns);

static inline uint64_t book_waiting(const struct book *book)
{
	return book->newest - book->closed;
}

#endif

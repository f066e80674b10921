/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generator's side of the lines (scope_lines.h).  What the target writes is read once
 * and believed in nothing: no value in there can lead an access elsewhere or a loop astray.
 */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "scope_lines.h"

/* Answers of one line that were seen. */
struct lines_reader {
	uint32_t seen;		/* the head up to which */
	uint64_t lost;		/* overwritten before they were seen */
};

/*
 * Takes over memory that may have had a generator before.  Returns the last sequence on
 * it, 0 if there was none.
 */
uint32_t lines_begin(struct scope_lines *lines);

/* No generator is there any more. */
void lines_end(struct scope_lines *lines);

/* Answers from now on only. */
void lines_skip(const struct scope_lines *lines, unsigned int line, struct lines_reader *reader);

/* Are there answers that were not seen? */
static inline bool lines_waiting(const struct scope_lines *lines, unsigned int line,
				 const struct lines_reader *reader)
{
	/* Pairs with the target's release of the head behind the sequence. */
	return __atomic_load_n(&lines->line[line].head, __ATOMIC_ACQUIRE) != reader->seen;
}

/*
 * Up to @max sequences, the oldest first.  Returns how many; less than @max: there are no
 * more for now.
 */
unsigned int lines_take(const struct scope_lines *lines, unsigned int line,
			struct lines_reader *reader, uint32_t *sequences, unsigned int max);

/* Lines that something answers on. */
uint32_t lines_offered(const struct scope_lines *lines);

/* A line's name, printable ASCII, filled up with zeros. */
void lines_name(const struct scope_lines *lines, unsigned int line, char name[SCOPE_LINES_NAME]);

#endif

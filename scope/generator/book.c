// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "book.h"
#include "sequence.h"

void book_begin(struct book *book, uint32_t base, void (*emit)(void *, const struct record *),
		void *to)
{
	/* All of it is touched now, not when a trigger waits. */
	memset(book, 0, sizeof(*book));
	book->base = base;
	book->emit = emit;
	book->to = to;
}

static struct book_trigger *trigger_of(struct book *book, uint64_t number)
{
	return &book->history[number % BOOK_HISTORY];
}

static struct book_open *open_of(struct book *book, uint64_t number)
{
	return &book->open[number % BOOK_OPEN];
}

/* Precondition: one is open. */
static void close_oldest(struct book *book)
{
	uint64_t number = ++book->closed;
	const struct book_trigger *trigger = trigger_of(book, number);
	const struct book_open *open = open_of(book, number);
	uint32_t missing = trigger->mask & ~trigger->answered;
	struct record record;

	record.kind = RECORD_TRIGGER;
	record.trigger = number;
	record.at_ns = trigger->at_ns;
	record.jitter_ns = trigger->jitter_ns;
	record.mask = trigger->mask;
	record.nr_answers = open->nr_answers;
	for (unsigned int i = 0; i < open->nr_answers; i++) {
		struct book_line *line = &book->lines[open->answers[i].line];

		record.answers[i] = open->answers[i];
		if (open->answers[i].flags & ANSWER_LATE)
			line->late++;
		else
			line->answered++;
	}
	for (; missing; missing &= missing - 1)
		book->lines[__builtin_ctz(missing)].missing++;
	book->emit(book->to, &record);
}

/* Is the oldest open one answered on all its lines? */
static bool oldest_complete(struct book *book)
{
	const struct book_trigger *oldest = trigger_of(book, book->closed + 1);

	return book_waiting(book) && !(oldest->mask & ~oldest->answered);
}

void book_trigger(struct book *book, uint64_t at_ns, uint32_t jitter_ns, uint32_t mask)
{
	if (book_waiting(book) == BOOK_OPEN)
		close_oldest(book);
	book->newest++;
	*trigger_of(book, book->newest) = (struct book_trigger){
		.at_ns = at_ns, .jitter_ns = jitter_ns, .mask = mask,
	};
	open_of(book, book->newest)->nr_answers = 0;
}

static void stray(struct book *book, unsigned int line, uint32_t sequence, uint64_t now)
{
	struct record record;

	record.kind = RECORD_STRAY;
	record.line = (uint8_t)line;
	record.sequence = sequence;
	record.at_ns = now;
	book->lines[line].strays++;
	book->emit(book->to, &record);
}

static void afterthought(struct book *book, unsigned int line, uint64_t number, uint64_t ns)
{
	struct record record;

	record.kind = RECORD_AFTERTHOUGHT;
	record.trigger = number;
	record.line = (uint8_t)line;
	record.at_ns = ns;
	book->lines[line].missing--;
	book->lines[line].late++;
	book->emit(book->to, &record);
}

void book_answer(struct book *book, unsigned int line, uint32_t sequence, uint64_t now,
		 bool unsure)
{
	uint64_t number = sequence_number(sequence, book->newest, book->base);
	struct book_trigger *trigger = trigger_of(book, number);
	struct book_open *open;

	if (!number || book->newest - number >= BOOK_HISTORY ||
	    !((trigger->mask & ~trigger->answered) >> line & 1)) {
		stray(book, line, sequence, now);
		return;
	}
	trigger->answered |= UINT32_C(1) << line;
	if (number <= book->closed) {
		afterthought(book, line, number, now - trigger->at_ns);
		return;
	}
	open = open_of(book, number);
	open->answers[open->nr_answers++] = (struct answer){
		.ns = now - trigger->at_ns,
		.line = (uint8_t)line,
		.flags = (uint8_t)((number < book->newest ? ANSWER_LATE : 0) |
				   (unsure ? ANSWER_UNSURE : 0)),
	};
	while (oldest_complete(book))
		close_oldest(book);
}

void book_expire(struct book *book, uint64_t now, uint64_t patience_ns)
{
	while (book_waiting(book) &&
	       (oldest_complete(book) ||
		now >= trigger_of(book, book->closed + 1)->at_ns + patience_ns))
		close_oldest(book);
}

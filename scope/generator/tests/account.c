// SPDX-License-Identifier: GPL-2.0-or-later
/* The account without a clock: sequences, answers, patience; and when triggers are due. */
#include <stdlib.h>

#include "check.h"
#include "book.h"
#include "clock.h"
#include "message.h"
#include "schedule.h"
#include "sequence.h"
#include "settings.h"

#define EMITTED 100000

static struct book book;
static struct record emitted[EMITTED];
static unsigned int nr_emitted;

static void emit(void *to, const struct record *record)
{
	(void)to;
	if (nr_emitted < EMITTED)
		emitted[nr_emitted++] = *record;
}

static void begin(uint32_t base)
{
	nr_emitted = 0;
	book_begin(&book, base, emit, NULL);
}

static void test_sequences(void)
{
	static const uint32_t bases[] = { 0, 1, 0x7fffffff, 0xfffffffe, 0xffffffff };

	for (unsigned int i = 0; i < 5; i++) {
		/* Around the places where 32 bits end, more than once. */
		for (uint64_t at = 1; at < UINT64_C(0x400000000); at += 0x7ffffff1) {
			CHECK(sequence_of(at, bases[i]));
			CHECK(sequence_of(at, bases[i]) != sequence_of(at + 1, bases[i]));
			for (uint64_t back = 0; back < 3 && back < at; back++)
				CHECK(sequence_number(sequence_of(at - back, bases[i]), at,
						      bases[i]) == at - back);
		}
		/* The first trigger's is not one of those before. */
		CHECK(sequence_of(1, bases[i]) != bases[i] || !bases[i]);
		CHECK(!sequence_number(bases[i], 1000, bases[i]));
		CHECK(!sequence_number(sequence_of(1001, bases[i]), 1000, bases[i]));
		CHECK(!sequence_number(0, 1000, bases[i]));
		CHECK(!sequence_number(1, 0, bases[i]));
	}
}

static void test_answers(void)
{
	begin(10);
	book_trigger(&book, 1000, 5, 0x7);
	book_answer(&book, 0, 11, 1100, false);
	book_answer(&book, 2, 11, 1300, true);
	CHECK(nr_emitted == 0);
	book_trigger(&book, 2000, 0, 0x1);
	book_answer(&book, 1, 11, 2500, false);		/* late: 1 is complete */
	CHECK(nr_emitted == 1 && emitted[0].trigger == 1 && emitted[0].nr_answers == 3);
	CHECK(emitted[0].answers[0].ns == 100 && !emitted[0].answers[0].flags);
	CHECK(emitted[0].answers[1].flags == ANSWER_UNSURE);
	CHECK(emitted[0].answers[2].ns == 1500 && emitted[0].answers[2].flags == ANSWER_LATE);
	CHECK(book.lines[0].answered == 1 && book.lines[1].late == 1);
	book_answer(&book, 0, 12, 2600, false);
	CHECK(nr_emitted == 2);
}

/* The second is complete before the first: their records keep the order. */
static void test_order(void)
{
	begin(0);
	book_trigger(&book, 1000, 0, 0x3);
	book_trigger(&book, 2000, 0, 0x3);
	book_answer(&book, 0, 2, 2100, false);
	book_answer(&book, 1, 2, 2100, false);
	CHECK(nr_emitted == 0);
	book_expire(&book, 1500, 1000);
	CHECK(nr_emitted == 0);
	book_expire(&book, 2000, 1000);
	CHECK(nr_emitted == 2);
	CHECK(emitted[0].trigger == 1 && emitted[0].nr_answers == 0);
	CHECK(emitted[1].trigger == 2 && emitted[1].nr_answers == 2);
	CHECK(book.lines[0].missing == 1 && book.lines[1].missing == 1);
	/* Now it comes. */
	book_answer(&book, 0, 1, 9000, false);
	CHECK(nr_emitted == 3 && emitted[2].kind == RECORD_AFTERTHOUGHT);
	CHECK(emitted[2].trigger == 1 && emitted[2].at_ns == 8000);
	CHECK(book.lines[0].missing == 0 && book.lines[0].late == 1);
	book_answer(&book, 0, 1, 9100, false);		/* and once more */
	CHECK(nr_emitted == 4 && emitted[3].kind == RECORD_STRAY);
}

static void test_strays(void)
{
	begin(0);
	book_answer(&book, 3, 1, 10, false);		/* nothing was sent */
	book_trigger(&book, 1000, 0, 0x1);
	book_answer(&book, 0, 2, 1001, false);		/* not yet */
	book_answer(&book, 0, 0, 1001, false);
	book_answer(&book, 1, 1, 1001, false);		/* not in the mask */
	book_answer(&book, 0, 1, 1001, false);
	book_answer(&book, 0, 1, 1002, false);		/* twice */
	CHECK(nr_emitted == 6);
	CHECK(book.lines[0].strays == 3 && book.lines[1].strays == 1 && book.lines[3].strays == 1);
	CHECK(book.lines[0].answered == 1 && book.lines[0].missing == 0);
	for (unsigned int i = 0; i < BOOK_HISTORY; i++)
		book_trigger(&book, 2000, 0, 0x2);
	book_answer(&book, 1, 1, 3000, false);		/* forgotten; its place is another's */
	CHECK(book.lines[1].strays == 2);
	book_answer(&book, 1, 2, 3000, false);		/* the oldest that is not */
	CHECK(book.lines[1].late == 1);
}

/* The oldest is closed with its own answers when there is no place for another. */
static void test_too_many_open(void)
{
	begin(0);
	book_trigger(&book, 1000, 7, 0x3);
	book_answer(&book, 1, 1, 1005, false);
	for (unsigned int i = 0; i < BOOK_OPEN; i++)
		book_trigger(&book, 2000 + i, 0, 0x3);
	CHECK(nr_emitted == 1 && emitted[0].trigger == 1 && emitted[0].jitter_ns == 7);
	CHECK(emitted[0].nr_answers == 1 && emitted[0].answers[0].ns == 5);
	book_answer(&book, 0, 1, 9000, false);
	CHECK(nr_emitted == 2 && emitted[1].kind == RECORD_AFTERTHOUGHT);
}

/* Whatever happens: triggers = answered + late + missing, on each line. */
static void test_account(void)
{
	uint64_t seed = 3, now = 1000000000, expected[SCOPE_LINES_MAX] = { 0 };

	/* The 32 bits end in the middle. */
	begin(0xffff0000);
	for (unsigned int i = 0; i < 400000; i++) {
		uint64_t what = random_below(&seed, 10), most = book.newest < 70000 ?
			book.newest : 70000;
		unsigned int line = (unsigned int)random_below(&seed, SCOPE_LINES_MAX);

		now += random_below(&seed, 1000);
		if (what < 3) {
			uint32_t mask = (uint32_t)random_next(&seed);

			book_trigger(&book, now, 0, mask);
			for (unsigned int k = 0; k < SCOPE_LINES_MAX; k++)
				expected[k] += mask >> k & 1;
		} else if (what < 9) {
			uint64_t back = random_below(&seed, what < 8 ? 20 : most + 3);

			book_answer(&book, line, sequence_of(book.newest + 1 - back, book.base),
				    now, false);
		} else {
			book_expire(&book, now, 20000);
		}
	}
	book_expire(&book, now + 1000000, 20000);
	CHECK(!book_waiting(&book));
	for (unsigned int k = 0; k < SCOPE_LINES_MAX; k++) {
		const struct book_line *line = &book.lines[k];

		CHECK(line->answered + line->late + line->missing == expected[k]);
		CHECK(line->answered && line->late && line->missing && line->strays);
	}
}

/* The records alone come to the same. */
static void test_records(void)
{
	struct book_line lines[SCOPE_LINES_MAX] = { { 0 } };
	uint64_t seed = 5, next = 1;

	begin(0);
	for (unsigned int i = 0; i < 60000; i++) {
		if (random_below(&seed, 3))
			book_answer(&book, (unsigned int)random_below(&seed, 8),
				    (uint32_t)(book.newest - random_below(&seed, 40)), i, false);
		else
			book_trigger(&book, i, 0, 0xff);
		book_expire(&book, i, 50);
	}
	book_expire(&book, 100000, 50);
	CHECK(nr_emitted < EMITTED);
	for (unsigned int i = 0; i < nr_emitted; i++) {
		const struct record *record = &emitted[i];
		uint64_t left = record->kind == RECORD_TRIGGER ? record->mask : 0;

		switch (record->kind) {
		case RECORD_TRIGGER:
			CHECK(record->trigger == next);
			next++;
			for (unsigned int k = 0; k < record->nr_answers; k++) {
				const struct answer *answer = &record->answers[k];

				left &= ~(UINT64_C(1) << answer->line);
				if (answer->flags & ANSWER_LATE)
					lines[answer->line].late++;
				else
					lines[answer->line].answered++;
			}
			for (unsigned int k = 0; k < 8; k++)
				lines[k].missing += left >> k & 1;
			break;
		case RECORD_AFTERTHOUGHT:
			CHECK(record->trigger < next);
			lines[record->line].missing--;
			lines[record->line].late++;
			break;
		default:
			lines[record->line].strays++;
		}
	}
	CHECK(!memcmp(lines, book.lines, sizeof(lines)));
}

static void test_settings(void)
{
	struct settings settings = SETTINGS_DEFAULT, before;
	struct message message = { .type = MESSAGE_SET_FREQUENCY };
	static const struct { uint8_t type; uint64_t a, b; bool good; } cases[] = {
		{ MESSAGE_SET_FREQUENCY, 0, 0, false }, { MESSAGE_SET_FREQUENCY, 1, 0, true },
		{ MESSAGE_SET_FREQUENCY, 1000000001, 0, false },
		{ MESSAGE_SET_FREQUENCY, 1000000000, 0, true },
		{ MESSAGE_SET_DUTY, 0, 0, false }, { MESSAGE_SET_DUTY, 1000000, 0, false },
		{ MESSAGE_SET_PACKET, 0, 0, false }, { MESSAGE_SET_PACKET, 1001, 0, false },
		{ MESSAGE_SET_PHASE, 2, 0, false }, { MESSAGE_SET_PHASE, 1, 77, true },
		{ MESSAGE_SET_LINES, UINT64_C(1) << 32, 0, false },
		{ MESSAGE_SET_PATIENCE, 999, 0, false },
		{ MESSAGE_SET_PATIENCE, UINT64_C(10000000001), 0, false },
		{ MESSAGE_SET_BURST, 0, 0, false }, { MESSAGE_SET_BURST, 1001, 1, false },
		{ MESSAGE_SET_BURST, 2, 501, false },	/* at 1 MHz */
		{ MESSAGE_SET_BURST, 2, 0, false }, { MESSAGE_SET_BURST, 2, 500, true },
		{ MESSAGE_SET_BURST, 3, UINT64_MAX, false },
		{ MESSAGE_SET_FREQUENCY, 999000000, 0, true },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char why[200] = "";

		before = settings;
		message.type = cases[i].type;
		message.number[0] = cases[i].a;
		message.number[1] = cases[i].b;
		CHECK(settings_take(&settings, &message, why, sizeof(why)) == cases[i].good);
		CHECK(!why[0] == cases[i].good);
		CHECK(cases[i].good || !memcmp(&settings, &before, sizeof(settings)));
	}
}

static void test_schedule(void)
{
	struct settings settings = SETTINGS_DEFAULT;
	struct schedule schedule, same;

	settings.millihertz = 1000000;	/* 1 ms */
	schedule_begin(&schedule, &settings, 500);
	CHECK(schedule.due_ns == 1000500);
	schedule_next(&schedule, schedule.due_ns);
	CHECK(schedule.due_ns == 2000500);
	schedule_next(&schedule, 5100000);	/* 3 and 4 and 5 are left out */
	CHECK(schedule.due_ns == 6000500);

	settings.burst = 3;
	settings.gap_ns = 100;
	schedule_begin(&schedule, &settings, 0);
	for (unsigned int i = 0; i < 9; i++, schedule_next(&schedule, schedule.due_ns))
		CHECK(schedule.due_ns == 1000000 * (i / 3 + UINT64_C(1)) + 100 * (i % 3));

	settings.burst = 1;
	settings.random = true;
	settings.seed = 12;
	schedule_begin(&schedule, &settings, 0);
	schedule_begin(&same, &settings, 0);
	for (unsigned int i = 0; i < 1000; i++) {
		uint64_t last = schedule.due_ns;

		CHECK(schedule.due_ns == same.due_ns);
		schedule_next(&schedule, last);
		schedule_next(&same, last);
		CHECK(schedule.due_ns - last >= 500000 && schedule.due_ns - last <= 1500000);
	}
	CHECK(schedule.due_ns > 960000000 && schedule.due_ns < 1040000000);
}

int main(void)
{
	static const struct test tests[] = {
		{ "sequences, and where 32 bits end", test_sequences },
		{ "answers, late and unsure", test_answers },
		{ "records in order, and afterthoughts", test_order },
		{ "strays are attributed to none", test_strays },
		{ "too many are open", test_too_many_open },
		{ "triggers = answered + late + missing", test_account },
		{ "the records come to the same", test_records },
		{ "settings within their bounds", test_settings },
		{ "when triggers are due", test_schedule },
	};

	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

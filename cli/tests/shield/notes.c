// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal of a shield on a machine where somebody makes as many tasks as there can be. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "check.h"
#include "shield/notes.h"

#define MANY 10000
#define FIRST 1000	/* the tid of the first one */

/* Each is the child of the one before. */
static struct tasks make_tasks(size_t count, const char *cpus)
{
	struct tasks tasks = { 0 };
	size_t sorted = 0;

	for (size_t i = 0; i < count; i++) {
		struct tasks_one *one = ARRAY_ADD(tasks.list, tasks.count);

		*one = (struct tasks_one){
			.task = { .root = "/nowhere", .tid = text_format("%zu", FIRST + i),
				  .start = text_format("70") },
			.tid = (long)(FIRST + i), .start = 70,
		};
		CHECK(cpulist_read(cpus, &one->task.cpus));
	}
	for (size_t i = 0; i < count; i++) {
		*ARRAY_ADD(tasks.by_tid, sorted) = &tasks.list[i];
		tasks.list[i].from = i ? &tasks.list[i - 1] : NULL;
	}
	return tasks;
}

/* Neither all notes nor all tasks are looked through for each of them. */
static void crowd(void)
{
	struct tasks tasks = make_tasks(MANY, "0-2");
	struct shield_notes notes;
	struct cpulist was, all;
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	CHECK(cpulist_read("0-3", &all));
	fputs(JOURNAL_FIRST_LINE "shield\t50\t3 - -\t-\n", out);
	/* Those that have begun all others, and as many that are gone. */
	fprintf(out, "shield-task\t%d\t70\t0-3 0-2\n", FIRST);
	for (int i = 1; i < MANY; i++)
		fprintf(out, "shield-task\t%d\t60\t0-3 0-2\n", FIRST + i);
	fclose(out);
	shield_notes_read(&notes, text);
	for (size_t i = 0; i < tasks.count; i++) {
		bool known = shield_notes_task(&notes, &tasks.list[i], &was);

		/* Further up than any real one nobody looks. */
		CHECK(known == (i < 1000));
		CHECK(!known || cpulist_same(&was, &all));
		CHECK(shield_notes_has(&notes, &tasks.list[i]) == !i);
	}
	shield_notes_free(&notes);
	free(text);
	tasks_free(&tasks);
}

static void tidy_is(const struct tasks *tasks, const char *text, const char *wanted)
{
	char *whole = text_format("%s%s", JOURNAL_FIRST_LINE, text);
	char *tidied, *expected = text_format("%s%s", JOURNAL_FIRST_LINE, wanted);
	size_t size;

	tidied = shield_notes_tidy(whole, tasks, &size);
	CHECK(!strcmp(tidied, expected) && size == strlen(expected));
	free(tidied);
	free(expected);
	free(whole);
}

/* Of each task that lives one line, and what has given it what it has. */
static void tidy(void)
{
	struct tasks tasks = make_tasks(1, "0-2");

	tidy_is(&tasks, "", "");
	tidy_is(&tasks, "shield\t50\t3 - -\t-\nshield-task\t1000\t70\t0-3 0-2\n",
		"shield\t50\t3 - -\t-\nshield-task\t1000\t70\t0-3 0-2\n");
	/* Gone, or another one that had its number. */
	tidy_is(&tasks, "shield\t50\t3 - -\t-\nshield-task\t1001\t70\t0-3 0-2\n"
		"shield-task\t1000\t60\t0-3 0-2\n", "shield\t50\t3 - -\t-\n");
	/* Again and again; masks that nothing is noted of any more. */
	tidy_is(&tasks, "shield\t50\t3 - -\t-\nshield-list\t/x\t0-2\t0-3\n"
		"shield\t51\t3 - -\t-\nshield-task\t1000\t70\t0-3 0-2\n"
		"shield\t52\t3 - -\t-\nshield-task\t1000\t70\t0-3 0-2\n"
		"shield\t53\t3 - -\t-\n",
		"shield\t50\t3 - -\t-\nshield-list\t/x\t0-2\t0-3\n"
		"shield\t52\t3 - -\t-\nshield-task\t1000\t70\t0-3 0-2\n"
		"shield\t53\t3 - -\t-\n");
	/* The newest was noted, and a kill came before it was made. */
	tidy_is(&tasks, "shield\t50\t3 - -\t-\nshield-task\t1000\t70\t0-3 0-2\n"
		"shield\t51\t2-3 - -\t-\nshield-task\t1000\t70\t0-3 0-1\n",
		"shield\t50\t3 - -\t-\nshield-task\t1000\t70\t0-3 0-2\n"
		"shield\t51\t2-3 - -\t-\nshield-task\t1000\t70\t0-3 0-1\n");
	/* What is damaged is for whoever undoes it. */
	tidy_is(&tasks, "frobnicate\n", "frobnicate\n");
	tasks_free(&tasks);
}

/* What was noted of a task since the masks were set. */
static void moved(void)
{
	struct tasks tasks = make_tasks(2, "0-3");
	struct shield_notes notes;
	const char *text;

	shield_notes_read(&notes, JOURNAL_FIRST_LINE
			  "shield\t50\t3 - -\t-\nshield-task\t1000\t70\t0-3 0-1\n"
			  "shield\t51\t3 - -\t-\nshield-task\t1000\t70\t0-3 0-2\n"
			  "shield-task\t1000\t60\t0-3 0-2\nshield-task\t1000\t70\t1,3 1\n");
	CHECK(shield_notes_moved(&notes, &tasks.list[0], &text) == 2);
	CHECK(text && !strcmp(text, "1,3 1"));
	CHECK(!shield_notes_moved(&notes, &tasks.list[1], &text) && !text);
	shield_notes_free(&notes);
	tasks_free(&tasks);
}

static const struct test tests[] = {
	{ "crowd", crowd },
	{ "tidy", tidy },
	{ "moved", moved },
};

int main(void)
{
	return check_run(tests, ARRAY_SIZE(tests));
}

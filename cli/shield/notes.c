// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "journal/journal.h"
#include "shield/notes.h"

#define NONE "-"
#define ANCESTORS 1000		/* more are a loop, in files that belong to no one moment */

char *shield_masks_text(const struct shield_masks *masks)
{
	char *lists[SHIELD_KINDS], *text;

	for (size_t i = 0; i < SHIELD_KINDS; i++)
		lists[i] = cpulist_text(&masks->of[i]);
	text = text_format("%s %s %s", *lists[0] ? lists[0] : NONE, *lists[1] ? lists[1] : NONE,
			   *lists[2] ? lists[2] : NONE);
	for (size_t i = 0; i < SHIELD_KINDS; i++)
		free(lists[i]);
	return text;
}

bool shield_masks_read(const char *text, struct shield_masks *masks)
{
	char *copy = text_format("%s", text), *next = copy;
	bool good = true;

	for (size_t i = 0; i < SHIELD_KINDS && good; i++) {
		const char *list = strsep(&next, " ");

		good = list && cpulist_read(strcmp(list, NONE) ? list : "", &masks->of[i]);
	}
	free(copy);
	return good && !next;
}

struct cpulist shield_masks_any(const struct shield_masks *masks)
{
	struct cpulist any = { .given = true };

	for (size_t i = 0; i < SHIELD_KINDS; i++)
		cpulist_union(&any, &masks->of[i]);
	return any;
}

bool shield_note_lists(const char *text, struct cpulist *was, struct cpulist *now)
{
	size_t length = strcspn(text, " ");
	char *first = text_format("%.*s", (int)length, text);
	bool good = text[length] && cpulist_read(first, was) &&
		cpulist_read(text + length + 1, now);

	free(first);
	return good;
}

static int by_tid(const void *a, const void *b)
{
	const struct shield_note *x = *(const struct shield_note *const *)a;
	const struct shield_note *y = *(const struct shield_note *const *)b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x > y) - (x < y);
}

static void index_tasks(struct shield_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		if (notes->list[i].tid >= 0)
			*ARRAY_ADD(notes->of_tasks, notes->nr_of_tasks) = &notes->list[i];
	if (notes->nr_of_tasks)
		qsort(notes->of_tasks, notes->nr_of_tasks, sizeof(*notes->of_tasks), by_tid);
}

void shield_notes_read(struct shield_notes *notes, const char *text)
{
	const char *end = NULL;
	size_t unknown = 0;	/* the first whose time is not known yet */
	char *line;

	*notes = (struct shield_notes){ 0 };
	for (size_t i = 0; i < SHIELD_KINDS; i++)
		notes->masks.of[i].given = true;
	while ((line = journal_line_last(text, &end))) {
		struct shield_note note = { .line = line, .since = UINT64_MAX, .tid = -1 };
		struct shield_masks masks;

		if (!journal_line_fields(line, note.fields)) {
			free(line);
			continue;
		}
		if (strcmp(note.fields[JOURNAL_WHAT], SHIELD_MASKS)) {
			if (!strcmp(note.fields[JOURNAL_WHAT], SHIELD_TASK))
				note.tid = strtol(note.fields[JOURNAL_NAME], NULL, 10);
			*ARRAY_ADD(notes->list, notes->count) = note;
			continue;
		}
		if (!notes->given && shield_masks_read(note.fields[JOURNAL_VALUE], &masks)) {
			notes->masks = masks;
			notes->latest = notes->count;
			notes->given = true;
		}
		note.since = strtoull(note.fields[JOURNAL_NAME], NULL, 10);
		for (; unknown < notes->count; unknown++)
			notes->list[unknown].since = note.since;
		free(line);
	}
	index_tasks(notes);
}

void shield_notes_free(struct shield_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		free(notes->list[i].line);
	free(notes->of_tasks);
	free(notes->list);
	*notes = (struct shield_notes){ 0 };
}

const char *shield_notes_file(const struct shield_notes *notes, const char *path,
			      enum setting_kind kind, const char *now)
{
	for (size_t i = 0; i < notes->count; i++) {
		char **fields = notes->list[i].fields;

		if (!strcmp(fields[JOURNAL_NAME], path) &&
		    setting_holds(kind, now, fields[JOURNAL_VALUE]))
			return fields[JOURNAL_TEXT];
	}
	return now;
}

/*
 * The next line of the task, the newest first; begin with @at 0, which moves on.  NULL: there is
 * no more.
 */
static const struct shield_note *next_of(const struct shield_notes *notes,
					 const struct tasks_one *one, size_t *at)
{
	size_t low = 0, high = notes->nr_of_tasks;

	while (!*at && low < high) {
		size_t middle = low + (high - low) / 2;

		if (notes->of_tasks[middle]->tid < one->tid)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = *at ? *at : low; i < notes->nr_of_tasks; i++) {
		const struct shield_note *note = notes->of_tasks[i];

		if (note->tid != one->tid)
			break;
		*at = i + 1;
		if (!strcmp(note->fields[JOURNAL_VALUE], one->task.start))
			return note;
	}
	return NULL;
}

bool shield_notes_has(const struct shield_notes *notes, const struct tasks_one *one)
{
	size_t at = 0;

	return next_of(notes, one, &at);
}

unsigned int shield_notes_moved(const struct shield_notes *notes, const struct tasks_one *one,
				const char **text)
{
	const struct shield_note *note;
	unsigned int count = 0;
	size_t at = 0;

	*text = NULL;
	while ((note = next_of(notes, one, &at)) && note < notes->list + notes->latest)
		if (!count++)
			*text = note->fields[JOURNAL_TEXT];
	return count;
}

bool shield_notes_task(const struct shield_notes *notes, const struct tasks_one *one,
		       struct cpulist *was)
{
	const struct tasks_one *from = one;
	uint64_t oldest = UINT64_MAX;	/* when the oldest between them began */

	for (int depth = 0; from && depth < ANCESTORS; depth++) {
		const struct shield_note *note;
		bool own = false;
		size_t at = 0;

		while ((note = next_of(notes, from, &at))) {
			struct cpulist now;

			own = true;
			/* Whoever began before has its affinity from somewhere else. */
			if (oldest >= note->since &&
			    shield_note_lists(note->fields[JOURNAL_TEXT], was, &now) &&
			    cpulist_same(&now, &one->task.cpus))
				return true;
		}
		if (own)
			return false;
		/* Threads of the kernel take nothing over. */
		if (from->task.kernel)
			return false;
		if (from->start < oldest)
			oldest = from->start;
		from = from->from;
	}
	return false;
}

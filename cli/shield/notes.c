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
		for (int cpu = -1; (cpu = cpulist_next(&masks->of[i], cpu)) >= 0;)
			cpulist_add(&any, cpu);
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

void shield_notes_read(struct shield_notes *notes, const char *text)
{
	const char *end = NULL;
	size_t unknown = 0;	/* the first whose time is not known yet */
	char *line;

	*notes = (struct shield_notes){ 0 };
	for (size_t i = 0; i < SHIELD_KINDS; i++)
		notes->masks.of[i].given = true;
	while ((line = journal_line_last(text, &end))) {
		struct shield_note note = { .line = line, .since = UINT64_MAX };
		struct shield_masks masks;

		if (!journal_line_fields(line, note.fields)) {
			free(line);
			continue;
		}
		if (strcmp(note.fields[JOURNAL_WHAT], SHIELD_MASKS)) {
			*ARRAY_ADD(notes->list, notes->count) = note;
			continue;
		}
		if (!notes->given && shield_masks_read(note.fields[JOURNAL_VALUE], &masks)) {
			notes->masks = masks;
			notes->given = true;
		}
		note.since = strtoull(note.fields[JOURNAL_NAME], NULL, 10);
		for (; unknown < notes->count; unknown++)
			notes->list[unknown].since = note.since;
		free(line);
	}
}

void shield_notes_free(struct shield_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		free(notes->list[i].line);
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

static bool is_of(const struct shield_note *note, const struct tasks_one *one)
{
	return !strcmp(note->fields[JOURNAL_WHAT], SHIELD_TASK) &&
		!strcmp(note->fields[JOURNAL_NAME], one->task.tid) &&
		!strcmp(note->fields[JOURNAL_VALUE], one->task.start);
}

bool shield_notes_has(const struct shield_notes *notes, const struct tasks_one *one)
{
	for (size_t i = 0; i < notes->count; i++)
		if (is_of(&notes->list[i], one))
			return true;
	return false;
}

bool shield_notes_task(const struct shield_notes *notes, const struct tasks *tasks,
		       const struct tasks_one *one, struct cpulist *was)
{
	const struct tasks_one *from = one;
	uint64_t oldest = UINT64_MAX;	/* when the oldest between them began */

	for (int depth = 0; from && depth < ANCESTORS; depth++) {
		bool own = false;

		for (size_t i = 0; i < notes->count; i++) {
			const struct shield_note *note = &notes->list[i];
			struct cpulist now;

			if (!is_of(note, from))
				continue;
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
		from = from->parent ? tasks_find(tasks, from->parent) : NULL;
	}
	return false;
}

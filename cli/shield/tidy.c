// SPDX-License-Identifier: GPL-2.0-or-later
/* Which lines of a shield's journal are worth nothing any more. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "journal/line.h"
#include "shield/notes.h"

/* What newer lines say of a task. */
struct known {
	bool newest;	/* there is one */
	bool now;	/* one of them gave it what it has now */
};

struct tidy {
	const struct tasks *tasks;
	struct known *known;	/* of each of them */
	bool masks;	/* newer ones stay */
	bool notes;	/* those that stay are of the masks that come next */
	char **lines;	/* what stays, the newest first */
	size_t count;
};

/* It is in no list if it could not be read just then. */
static bool is_there(const struct tidy *tidy, char **fields)
{
	const char *root = tidy->tasks->count ? tidy->tasks->list[0].task.root : NULL;
	struct task task;
	bool same;

	if (!root || !task_read(&task, root, fields[JOURNAL_NAME]))
		return false;
	same = !strcmp(task.start, fields[JOURNAL_VALUE]);
	task_free(&task);
	return same;
}

static bool task_stays(struct tidy *tidy, char **fields)
{
	const struct tasks_one *one = tasks_find(tidy->tasks,
						 strtol(fields[JOURNAL_NAME], NULL, 10));
	struct known *known;
	struct cpulist was, now;
	bool stays, same;

	if (!one || strcmp(one->task.start, fields[JOURNAL_VALUE]))
		return is_there(tidy, fields);
	if (!shield_note_lists(fields[JOURNAL_TEXT], &was, &now))
		return true;
	known = &tidy->known[one - tidy->tasks->list];
	same = cpulist_same(&now, &one->task.cpus);
	/* A kill may have come between the newest and what it notes. */
	stays = !known->newest || (same && !known->now);
	known->newest = true;
	known->now |= same;
	return stays;
}

static bool line_stays(struct tidy *tidy, char **fields)
{
	bool stays = true;

	if (!strcmp(fields[JOURNAL_WHAT], SHIELD_MASKS)) {
		stays = !tidy->masks || tidy->notes;
		tidy->masks = true;
		tidy->notes = false;
		return stays;
	}
	if (!strcmp(fields[JOURNAL_WHAT], SHIELD_TASK))
		stays = task_stays(tidy, fields);
	tidy->notes |= stays;
	return stays;
}

char *shield_notes_tidy(const char *text, const struct tasks *tasks, size_t *size)
{
	struct tidy tidy = { .tasks = tasks, .known = calloc(tasks->count + 1, sizeof(*tidy.known)) };
	const char *end = NULL;
	char *line, *tidied;
	FILE *out = text_open(&tidied, size);

	while (tidy.known && (line = journal_line_last(text, &end))) {
		char *copy = text_format("%s", line), *fields[JOURNAL_FIELDS];

		/* One that is damaged is named when all is undone. */
		if (!journal_line_fields(copy, fields) || line_stays(&tidy, fields))
			*ARRAY_ADD(tidy.lines, tidy.count) = line;
		else
			free(line);
		free(copy);
	}
	fputs(tidy.known ? JOURNAL_FIRST_LINE : text, out);
	while (tidy.count) {
		fprintf(out, "%s\n", tidy.lines[--tidy.count]);
		free(tidy.lines[tidy.count]);
	}
	free(tidy.lines);
	free(tidy.known);
	fclose(out);
	return tidied;
}

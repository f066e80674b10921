// SPDX-License-Identifier: GPL-2.0-or-later
/* How a change is undone: only what it has set itself, and nobody has set otherwise since. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "journal/change.h"
#include "journal/line.h"
#include "journal/store.h"
#include "journal/undo_line.h"

bool undo_leave(struct undo_context *context, const char *path, enum setting_kind kind,
		const char *now, const char *text)
{
	char *shown = setting_value(kind, now), *before = setting_value(kind, text);

	error_say("%s: somebody has set it to \"%s\" since, and so it stays; before it was \"%s\"",
		  path, shown, before);
	context->journal->kept++;
	free(before);
	free(shown);
	return true;
}

static bool read_cpus(const char *text, struct cpulist *cpus)
{
	char *value = text_trim(text);
	bool good = cpulist_read(value, cpus);

	free(value);
	return good;
}

/* Names those of @added that stay, as they have been allowed since. */
static void say_stays(struct undo_context *context, const char *path, const struct cpulist *stays)
{
	char *list;

	if (cpulist_empty(stays))
		return;
	list = cpulist_text(stays);
	error_say("%s: CPU %s stays there: isolator configure has allowed it since", path, list);
	context->journal->kept++;
	free(list);
}

/* @now is without @added, but for what is allowed since; what others have changed stays so. */
static bool take_out(struct undo_context *context, const char *path, struct cpulist added,
		     const struct cpulist *was, const struct cpulist *now, const char *text)
{
	struct cpulist left = *now, others = *now, stays;
	char *value, *whole;
	bool good;

	cpulist_minus(&others, &added);
	cpulist_minus(&added, &context->allowed);
	cpulist_minus(&left, &added);
	stays = left;
	cpulist_minus(&stays, &others);
	say_stays(context, path, &stays);
	if (cpulist_same(&left, now))
		return true;
	value = cpulist_text(&left);
	whole = text_format("%s\n", value);
	good = undo_write(context, path, SETTING_ADDED, value,
			  cpulist_same(&left, was) ? text : whole);
	free(whole);
	free(value);
	return good;
}

/* A list of CPUs in which the one @set has more than @text had. */
static bool undo_added(struct undo_context *context, const char *path, const char *set,
		       const char *text)
{
	char *now = setting_read(context->root, path);
	struct cpulist was, have, added;
	bool good;

	if (!read_cpus(text, &was) || !read_cpus(set, &added)) {
		good = undo_damaged_line(context);
	} else if (now && read_cpus(now, &have)) {
		cpulist_minus(&added, &was);
		good = take_out(context, path, added, &was, &have, text);
	} else {
		char *value = cpulist_text(&was);

		good = undo_write(context, path, SETTING_ADDED, value, text);
		free(value);
	}
	free(now);
	return good;
}

bool undo_change(struct undo_context *context, char **fields)
{
	const char *path = fields[JOURNAL_NAME], *text = fields[JOURNAL_TEXT];
	enum setting_kind kind;
	const char *set = change_set(fields[JOURNAL_VALUE], &kind);
	char *now, *value;
	bool good;

	if (!set)
		return undo_damaged_line(context);
	if (kind == SETTING_ADDED)
		return undo_added(context, path, set, text);
	now = setting_read(context->root, path);
	if (now && strcmp(now, text) && !setting_holds(kind, now, set)) {
		/* A run that has found it so, and needed it, has set nothing. */
		good = setting_holds(kind, text, set) || undo_leave(context, path, kind, now, text);
	} else {
		value = setting_before(kind, text, set);
		good = undo_write(context, path, kind, value, text);
		free(value);
	}
	free(now);
	return good;
}

int undo_share_change(struct journal *journal, char **fields)
{
	enum setting_kind kind;
	const char *set = change_set(fields[JOURNAL_VALUE], &kind);
	char *text = set ? setting_read(journal->root, fields[JOURNAL_NAME]) : NULL, *value, *field;
	int error;

	if (!text)
		return 0;
	value = kind == SETTING_SWITCH ? text_format("%s", set) : setting_value(kind, text);
	field = change_field(kind, value);
	error = journal_note(journal, JOURNAL_CHANGE, fields[JOURNAL_NAME], field, text);
	free(field);
	free(value);
	free(text);
	return error;
}

bool undo_allowed(struct undo_context *context, char **fields)
{
	struct cpulist cpus;

	if (!read_cpus(fields[JOURNAL_VALUE], &cpus))
		return undo_damaged_line(context);
	/* The newest is met first. */
	if (!context->allowed.given)
		context->allowed = cpus;
	context->allowed.given = true;
	return true;
}

/* Adds to the journal @fd, if it notes a change of @path, that @list is allowed: 0 or the errno. */
static int note_allowed(int fd, const char *path, const char *list)
{
	const char *const fields[] = { JOURNAL_ALLOWED, path, list, "-" };
	char *text = journal_line_all(fd), *change = text_format("\n" JOURNAL_CHANGE "\t%s\t", path);
	const char *end = text ? strrchr(text, '\n') : NULL;
	int error = 0;

	if (end && strstr(text, change)) {
		size_t size;
		char *line = journal_line_make(fields, &size);

		/* What a crash has cut off was never acted on. */
		error = end[1] && ftruncate(fd, end + 1 - text) ? errno :
			file_write_fd(fd, line, size);
		/* The next line is not to follow half of this one. */
		if (error && ftruncate(fd, end + 1 - text))
			error = errno;
		free(line);
	}
	free(change);
	free(text);
	return error;
}

int journal_allowed(const char *root, int directory, const char *path, const struct cpulist *cpus)
{
	struct store_entry *entries;
	char *list = cpulist_text(cpus);
	int failed = 0;
	size_t count;

	entries = store_list(directory, &count);
	for (size_t i = 0; i < count; i++) {
		int fd = openat(directory, entries[i].name,
				O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		int error = fd < 0 ? errno : note_allowed(fd, path, list);

		if (error) {
			store_fail(root, STORE_PATH, entries[i].name, strerror(error));
			failed = -1;
		}
		if (fd >= 0)
			close(fd);
	}
	store_free(entries, count);
	free(list);
	return failed;
}

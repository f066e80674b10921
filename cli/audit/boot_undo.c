// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts back what was written for the next boot, the last change first. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/boot.h"
#include "audit/boot_notes.h"
#include "base/array.h"
#include "base/error.h"
#include "base/setting.h"
#include "base/text.h"
#include "journal/change.h"
#include "journal/line.h"
#include "journal/store.h"

#define GRUB_DIRECTORY "/etc/default/grub.d/"

struct context {
	struct undo *undo;
	struct undo_journal *journal;
	const char *root;
	bool grub;	/* a file of GRUB's was noted: update-grub has to follow */
};

/* Says so, and keeps it.  Returns false. */
static bool fail(struct context *context, const char *path, const char *should, const char *why)
{
	error_say("%s: %s", path, why);
	*ARRAY_ADD(context->undo->failures, context->undo->failed) = (struct undo_failure){
		text_format("%s", path), text_format("%s", should), text_format("%s", why),
	};
	context->journal->failed++;
	return false;
}

/* @text without the words that @new has and @old does not; to be freed. */
static char *without(const char *text, const char *new, const char *old)
{
	size_t size;
	char *left;
	FILE *out = text_open(&left, &size);

	while (*text) {
		size_t blanks = strspn(text, " \t\n"), length = strcspn(text + blanks, " \t\n");
		char *word = text_format("%.*s", (int)length, text + blanks);
		bool ours = *word && text_has_word(new, word) && !text_has_word(old, word);

		if (!ours)
			fprintf(out, "%.*s", (int)(blanks + length), text);
		free(word);
		text += blanks + length;
	}
	fclose(out);
	return left;
}

/* A file that was there before: its text, or what others have made of it without ours. */
static bool put_back(struct context *context, char **fields)
{
	const char *path = fields[JOURNAL_NAME], *old = fields[JOURNAL_TEXT];
	const char *new = fields[JOURNAL_VALUE];
	char *now = setting_read(context->root, path), *wanted, *again;
	char *why;
	int error = 0;
	bool good;

	if (!now)
		return fail(context, path, old, strerror(errno));
	wanted = !strcmp(now, new) || !strcmp(now, old) ? text_format("%s", old) :
		without(now, new, old);
	if (strcmp(now, wanted))
		error = boot_replace(context->root, path, wanted);
	again = setting_read(context->root, path);
	good = !error && again && !strcmp(again, wanted);
	why = error ? text_format("%s%s", strerror(error), change_hint(path, error)) :
		text_format("it was written, but another text was read back");
	if (!good)
		fail(context, path, wanted, why);
	free(why);
	free(again);
	free(wanted);
	free(now);
	return good;
}

/* A file that was not there: only if it is what was written. */
static bool take_away(struct context *context, char **fields)
{
	const char *path = fields[JOURNAL_NAME];
	char *now = setting_read(context->root, path);
	int error = now ? 0 : errno;
	bool ours = now && !strcmp(now, fields[JOURNAL_VALUE]);

	free(now);
	if (error == ENOENT)
		return true;
	if (!error && !ours)
		return fail(context, path, "no such file", "it was changed since isolator audit --fix --boot wrote it: remove it if nobody wants it, then restore again");
	if (!error)
		error = boot_remove(context->root, path, false);
	return error ? fail(context, path, "no such file", strerror(error)) : true;
}

static bool undo_line(struct context *context, char **fields)
{
	const char *path = fields[JOURNAL_NAME];
	int error;

	context->grub |= !strncmp(path, GRUB_DIRECTORY, strlen(GRUB_DIRECTORY));
	if (!strcmp(fields[JOURNAL_WHAT], BOOT_CHANGED) && *path == '/')
		return put_back(context, fields);
	if (!strcmp(fields[JOURNAL_WHAT], BOOT_MADE) && *path == '/')
		return take_away(context, fields);
	if (strcmp(fields[JOURNAL_WHAT], BOOT_DIRECTORY) || *path != '/')
		return fail(context, BOOT_NOTES, "", "a line of it is damaged, or of a newer command, and was left out");
	error = boot_remove(context->root, path, true);
	/* Others have something in it by now. */
	if (error && error != ENOTEMPTY && error != EEXIST)
		return fail(context, path, "no such directory", strerror(error));
	return true;
}

/* What of @text stays, to be freed. */
static char *undo_text(struct context *context, const char *text)
{
	char *left = text_format("%s", ""), *line;
	const char *end = NULL;

	while ((line = journal_line_last(text, &end))) {
		char *copy = text_format("%s", line), *fields[JOURNAL_FIELDS], *more;
		bool done = journal_line_fields(copy, fields) ? undo_line(context, fields) :
			fail(context, BOOT_NOTES, "", "a line of it is damaged, and was left out");

		context->journal->restored += done;
		if (!done) {
			more = text_format("%s\n%s", line, left);
			free(left);
			left = more;
		}
		free(copy);
		free(line);
	}
	line = text_format("%s%s", JOURNAL_FIRST_LINE, left);
	free(left);
	return line;
}

static void undo_all(struct context *context, const char *text, const char *update)
{
	char *left = undo_text(context, text), *why = NULL;
	int error;

	if (context->grub && !boot_can_update(context->root, update))
		why = text_format("there is no update-grub: the next boot still has what was written");
	else if (context->grub)
		why = boot_update(context->root, update);
	if (why)
		fail(context, "/boot/grub/grub.cfg", "as update-grub writes it", why);
	/* Until that has worked all stays noted: what is as it was is left alone again. */
	error = boot_notes_write(context->root, why ? text : left);
	if (error)
		fail(context, BOOT_NOTES, "", strerror(error));
	if (context->journal->failed)
		context->journal->state = UNDO_STAYS;
	free(why);
	free(left);
}

int boot_undo(struct undo *undo, const char *root, const char *update)
{
	struct context context = { .undo = undo, .root = root };
	char *text = boot_notes_read(root);
	int directory;

	if (!text && errno == ENOENT)
		return 0;
	context.journal = ARRAY_ADD(undo->journals, undo->count);
	context.journal->path = text_format(BOOT_NOTES);
	context.journal->program = text_format("isolator audit --fix --boot");
	if (!text) {
		fail(&context, BOOT_NOTES, "", errno == EBADMSG ?
		     "it is damaged, or of another version of this command: move it away" :
		     strerror(errno));
		context.journal->state = UNDO_STAYS;
		return 0;
	}
	directory = store_lock(root, true, false);
	if (directory < 0) {
		free(text);
		return -1;
	}
	/* Another command may have undone it meanwhile. */
	free(text);
	text = boot_notes_read(root);
	if (text)
		undo_all(&context, text, update);
	store_close(root, directory);
	free(text);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "journal/journal.h"
#include "journal/line.h"
#include "journal/store.h"
#include "journal/undo.h"
#include "journal/undo_line.h"

static bool is_held(const struct undo_context *context, const char *name)
{
	for (size_t i = 0; i < context->nr_held; i++)
		if (!strcmp(context->held[i], name))
			return true;
	return false;
}

/* The kind of a line that is no change, but says whose the journal is; NULL: it is another one. */
static const struct undo_kind *names_owner(char **fields)
{
	const struct undo_kind *kind = undo_kind(fields[JOURNAL_WHAT]);

	return kind && !kind->undo ? kind : NULL;
}

/* What @text notes comes before what older journals note of the same. */
static void hold(struct undo_context *context, const char *text)
{
	const char *end = NULL;
	char *line;

	while ((line = journal_line_last(text, &end))) {
		char *fields[JOURNAL_FIELDS];

		if (journal_line_fields(line, fields) && !names_owner(fields))
			*ARRAY_ADD(context->held, context->nr_held) =
				text_format("%s", fields[JOURNAL_NAME]);
		free(line);
	}
}

/* Whose it is, as its first line says. */
static void name_owner(struct undo_journal *journal, const char *text)
{
	const char *at = text + strlen(JOURNAL_FIRST_LINE);
	const struct undo_kind *first = NULL;
	char *fields[JOURNAL_FIELDS], *line;

	if (strlen(text) < strlen(JOURNAL_FIRST_LINE))
		return;
	line = text_format("%.*s", (int)strcspn(at, "\n"), at);
	if (journal_line_fields(line, fields))
		first = undo_kind(fields[JOURNAL_WHAT]);
	if (first && first->command && !first->cpus)
		journal->program = text_format("%s", first->command);
	if (first && !strcmp(first->what, JOURNAL_RUN)) {
		journal->pid = text_format("%s", fields[JOURNAL_NAME]);
		journal->cpus = text_format("%s", fields[JOURNAL_VALUE]);
		journal->program = text_format("%s", fields[JOURNAL_TEXT]);
	}
	for (const struct undo_kind *kind = undo_kinds; kind->what && !journal->cpus; kind++) {
		if (!kind->cpus)
			continue;
		journal->cpus = kind->cpus(text);
		if (journal->cpus)
			journal->program = text_format("%s", kind->command);
	}
	free(line);
}

/* Lines that are no change, but matter for those before: they stay as long as one of these. */
struct asides {
	struct aside {
		char *line;
		char *name;
	} *list;
	size_t count;
};

/* Those of @name go to @left; the newest is first. */
static void keep_asides(struct asides *asides, const char *name, FILE *left)
{
	for (size_t i = 0; i < asides->count; i++) {
		struct aside *aside = &asides->list[i];

		if (!aside->line || strcmp(aside->name, name))
			continue;
		fprintf(left, "%s\n", aside->line);
		free(aside->line);
		aside->line = NULL;
	}
}

static void free_asides(struct asides *asides)
{
	for (size_t i = 0; i < asides->count; i++) {
		free(asides->list[i].line);
		free(asides->list[i].name);
	}
	free(asides->list);
}

/* Undoes @text; what stays is written to @left, the last line first. */
static void undo_text(struct undo_context *context, const char *text, FILE *left)
{
	struct undo_journal *journal = context->journal;
	struct asides asides = { 0 };
	const char *end = NULL;
	char *line;

	context->allowed = (struct cpulist){ 0 };
	while ((line = journal_line_last(text, &end))) {
		char *copy = text_format("%s", line), *fields[JOURNAL_FIELDS];
		const struct undo_kind *owner;
		bool stays = true;

		if (!journal_line_fields(copy, fields)) {
			undo_damaged_line(context);
			journal->failed++;
		} else if ((owner = names_owner(fields))) {
			/* The last of them: all that they began from are as they were. */
			if (owner->rest && !owner->rest(context, text))
				journal->failed++;
			stays = journal->failed || journal->waiting;
		} else {
			const struct undo_kind *kind = undo_kind(fields[JOURNAL_WHAT]);
			bool counts = !kind || !kind->aside;
			unsigned int kept = journal->kept;

			if (is_held(context, fields[JOURNAL_NAME]))
				journal->waiting += counts;
			else if (!undo_line(context, fields))
				journal->failed++;
			else
				stays = false;
			journal->restored += !stays && counts && journal->kept == kept;
			if (!counts && !stays)
				*ARRAY_ADD(asides.list, asides.count) = (struct aside){
					text_format("%s", line),
					text_format("%s", fields[JOURNAL_NAME]),
				};
			else if (stays)
				keep_asides(&asides, fields[JOURNAL_NAME], left);
		}
		if (stays)
			fprintf(left, "%s\n", line);
		free(copy);
		free(line);
	}
	free_asides(&asides);
}

/* The lines of @left, which are the last first, become the journal; 0 or the errno. */
static int replace(int directory, const char *name, const char *left, size_t size)
{
	char *text;
	size_t whole;
	FILE *out = text_open(&text, &whole);
	int fd, error;

	fputs(JOURNAL_FIRST_LINE, out);
	for (size_t at = size; at;) {
		size_t from = at - 1;

		while (from && left[from - 1] != '\n')
			from--;
		fwrite(left + from, 1, at - from, out);
		at = from;
	}
	fclose(out);
	error = store_replace(directory, name, text, whole, &fd);
	if (!error)
		close(fd);
	free(text);
	return error;
}

static void undo_one(struct undo_context *context, int directory, const char *name, const char *text)
{
	struct undo_journal *journal = context->journal;
	char *left, *forward = NULL;
	size_t size;
	FILE *out = text_open(&left, &size);
	int error = 0;

	undo_text(context, text, out);
	fclose(out);
	if (size) {
		forward = text_format("%s%s", JOURNAL_FIRST_LINE, left);
		hold(context, forward);
		error = replace(directory, name, left, size);
	} else if (unlinkat(directory, name, 0)) {
		error = errno;
	}
	if (error) {
		undo_damaged(context, strerror(error));
		journal->failed++;
	}
	if (journal->failed)
		journal->state = UNDO_STAYS;
	else if (journal->waiting)
		journal->state = UNDO_WAITS;
	free(forward);
	free(left);
}

/* Is the file @fd that journal?  Its name may be another's by now. */
static bool is_failed(const struct undo_context *context, int fd)
{
	const struct stat *failed = context->failed;
	struct stat status;

	return failed && !fstat(fd, &status) && status.st_dev == failed->st_dev &&
		status.st_ino == failed->st_ino;
}

static void look(struct undo_context *context, int directory, const struct store_entry *entry,
		 enum undo_which which)
{
	bool alive = false;
	int fd = store_open(directory, entry->name, &alive);
	char *text = fd < 0 ? NULL : journal_line_all(fd);
	char *attached = text ? journal_attached(context->root, text) : NULL;
	struct undo_journal *journal;

	journal = ARRAY_ADD(context->undo->journals, context->undo->count);
	journal->path = text_format("%s/%s", context->place, entry->name);
	context->journal = journal;
	if (!text) {
		undo_damaged(context, errno == EBADMSG ?
			     "it is damaged, or of another version of this command: move it away" :
			     strerror(errno));
		journal->failed++;
		journal->state = UNDO_STAYS;
	} else {
		name_owner(journal, text);
		/* Of runs, only what they hold counts. */
		alive |= which == UNDO_SHIELD && entry->order;
		alive |= attached && (!context->detached || strcmp(context->detached, attached));
		/* This process itself has it locked. */
		alive &= !is_failed(context, fd);
		if (alive && which != UNDO_ALL) {
			journal->state = UNDO_ALIVE;
			hold(context, text);
		} else {
			undo_one(context, directory, entry->name, text);
		}
	}
	free(attached);
	free(text);
	if (fd >= 0)
		close(fd);
}

/* Is the journal @name, of no run, to be undone? */
static bool is_asked(const char *name, enum undo_which which)
{
	return which == UNDO_SHIELD ? !strcmp(name, STORE_SHIELD) : which != UNDO_RUNS;
}

static int undo_place(struct undo_context *context, const char *place, enum undo_which which)
{
	const char *root = context->root;
	int directory = store_lock(root, place, false, which == UNDO_RUNS || which == UNDO_SHIELD);
	struct store_entry *entries;
	size_t count;

	context->place = place;
	if (directory < 0)
		return directory == -2 ? 0 : -1;
	entries = store_list(directory, &count);
	for (size_t i = 0; i < count; i++)
		if (entries[i].order || is_asked(entries[i].name, which))
			look(context, directory, &entries[i], which);
	store_free(entries, count);
	store_close(root, place, directory);
	return 0;
}

static int undo_all(struct undo_context *context, enum undo_which which)
{
	int error;

	*context->undo = (struct undo){ 0 };
	error = undo_place(context, STORE_PATH, which);
	if (!error && (which == UNDO_ENDED || which == UNDO_ALL))
		error = undo_place(context, STORE_LASTING, which);
	for (size_t i = 0; i < context->nr_held; i++)
		free(context->held[i]);
	free(context->held);
	return error;
}

int undo_journals(struct undo *undo, const char *root, enum undo_which which)
{
	struct undo_context context = { .undo = undo, .root = root };

	return undo_all(&context, which);
}

int undo_attached(struct undo *undo, const char *root, const char *tid)
{
	struct undo_context context = { .undo = undo, .root = root, .detached = tid };

	return undo_all(&context, UNDO_RUNS);
}

int undo_attach(struct undo *undo, const char *root, int journal)
{
	struct stat failed;
	struct undo_context context = { .undo = undo, .root = root, .failed = &failed };

	if (fstat(journal, &failed)) {
		error_say("the journal of settings: %s", strerror(errno));
		return -1;
	}
	return undo_all(&context, UNDO_RUNS);
}

bool undo_runs(const char *root)
{
	struct undo undo;
	bool good = true;

	if (undo_journals(&undo, root, UNDO_RUNS))
		return false;
	for (size_t i = 0; i < undo.count; i++) {
		const struct undo_journal *journal = &undo.journals[i];

		good &= journal->state != UNDO_STAYS;
		if (journal->state == UNDO_DONE && journal->pid &&
		    strtol(journal->pid, NULL, 10) != getpid())
			error_say("PID %s (%s) was killed; the changes that it left are now undone",
				  journal->pid, journal->program);
	}
	undo_free(&undo);
	return good;
}

void undo_free(struct undo *undo)
{
	for (size_t i = 0; i < undo->count; i++) {
		free(undo->journals[i].path);
		free(undo->journals[i].pid);
		free(undo->journals[i].cpus);
		free(undo->journals[i].program);
	}
	for (size_t i = 0; i < undo->failed; i++) {
		free(undo->failures[i].path);
		free(undo->failures[i].should);
		free(undo->failures[i].why);
	}
	free(undo->journals);
	free(undo->failures);
}

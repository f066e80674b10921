// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "device.h"
#include "error.h"
#include "file.h"
#include "group.h"
#include "journal.h"
#include "journal_line.h"
#include "root.h"
#include "setting.h"
#include "store.h"
#include "shield_notes.h"
#include "task.h"
#include "text.h"
#include "undo.h"
#include "undo_shield.h"

struct context {
	struct undo *undo;
	struct undo_journal *journal;
	const char *root;
	const char *detached;	/* the tid of a task whose journal is undone though it lives */
	char **held;	/* what newer journals note, and therefore comes later: names */
	size_t nr_held;
};

/* Says so, and keeps it.  Returns false. */
static bool fail(struct context *context, const char *path, const char *should, const char *why)
{
	*ARRAY_ADD(context->undo->failures, context->undo->failed) = (struct undo_failure){
		text_format("%s", path), text_format("%s", should), text_format("%s", why),
	};
	return false;
}

static bool damaged(struct context *context, const char *why)
{
	store_fail(context->root, strrchr(context->journal->path, '/') + 1, why);
	return fail(context, context->journal->path, "", why);
}

static bool put_back(struct context *context, char **fields)
{
	const char *root = context->root, *path = fields[JOURNAL_NAME];
	const char *text = fields[JOURNAL_TEXT];
	char *now = setting_read(root, path);
	int error = 0;

	/* As it was already: some refuse to be told what they know. */
	if (!now || strcmp(now, text)) {
		error = root_live(root) ? setting_write(root, path, fields[JOURNAL_VALUE]) :
			setting_write_text(root, path, text);
		free(now);
		now = error ? NULL : setting_read(root, path);
		error = error ? error : now ? 0 : errno;
	}
	if (error) {
		error_say("%s: %s: it should be \"%s\" again", path, strerror(error),
			  fields[JOURNAL_VALUE]);
		return fail(context, path, fields[JOURNAL_VALUE], strerror(error));
	}
	if (strcmp(now, text)) {
		error_say("%s was set to \"%s\" again, but shows \"%s\"", path,
			  fields[JOURNAL_VALUE], now);
		fail(context, path, fields[JOURNAL_VALUE], now);
		error = -1;
	}
	free(now);
	return !error;
}

static bool put_controller_back(struct context *context, char **fields)
{
	int error = group_disable(context->root, fields[JOURNAL_TEXT]);

	if (!error)
		return true;
	error_say("%s: %s: it should be without %s again", fields[JOURNAL_NAME], strerror(error),
		  fields[JOURNAL_VALUE]);
	return fail(context, fields[JOURNAL_NAME], fields[JOURNAL_TEXT], strerror(error));
}

static bool put_group_back(struct context *context, char **fields)
{
	int error = group_remove(context->root, fields[JOURNAL_NAME], fields[JOURNAL_VALUE],
				 &context->journal->moved);

	if (!error)
		return true;
	error_say("%s: %s: this cgroup should be gone: end or move what runs in it, and rmdir it",
		  fields[JOURNAL_NAME], strerror(error));
	return fail(context, fields[JOURNAL_NAME], "no such cgroup", strerror(error));
}

/* Says that the task @tid has not @list again, as it should; false. */
static bool fail_task(struct context *context, const char *tid, const char *list, int error)
{
	char *path = text_format("/proc/%s/status", tid);

	error_say("%s: %s: its affinity should be %s again: taskset -pc %s %s", path,
		  strerror(error), list, list, tid);
	fail(context, path, list, strerror(error));
	free(path);
	return false;
}

static bool put_task_back(struct context *context, char **fields)
{
	const char *tid = fields[JOURNAL_NAME], *list = fields[JOURNAL_TEXT];
	struct cpulist cpus;
	struct task task;
	int error = 0;

	if (!cpulist_read(list, &cpus))
		return damaged(context, "a line of it is damaged, and was left out");
	/* It has ended; maybe another has its number. */
	if (!task_read(&task, context->root, tid))
		return true;
	if (!strcmp(task.start, fields[JOURNAL_VALUE]) &&
	    memcmp(task.cpus.bits, cpus.bits, sizeof(cpus.bits))) {
		error = task_set(&task, &cpus);
		task_free(&task);
		if (error == ESRCH || (!error && !task_read(&task, context->root, tid)))
			return true;
		if (!error && memcmp(task.cpus.bits, cpus.bits, sizeof(cpus.bits)))
			error = EBUSY;
	}
	if (error)
		fail_task(context, tid, list, error);
	task_free(&task);
	return !error;
}

/* What the shield has given the task, unless somebody has given it something else since. */
static bool put_shielded_task_back(struct context *context, char **fields)
{
	const char *tid = fields[JOURNAL_NAME], *text = fields[JOURNAL_TEXT];
	struct cpulist was, now;
	char *list;
	int error;

	if (!shield_note_lists(text, &was, &now))
		return damaged(context, "a line of it is damaged, and was left out");
	error = undo_shield_task(context->root, tid, fields[JOURNAL_VALUE], &was, &now);
	if (!error)
		return true;
	list = cpulist_text(&was);
	fail_task(context, tid, list, error);
	free(list);
	return false;
}

/* The same of a file; one that is gone had what it had. */
static bool put_shielded_back(struct context *context, char **fields)
{
	char *now = setting_read(context->root, fields[JOURNAL_NAME]), *value;
	bool good = (!now && errno == ENOENT) ||
		(now && !undo_shield_holds(fields[JOURNAL_WHAT], now, fields[JOURNAL_VALUE]));

	if (!good) {
		value = text_trim(fields[JOURNAL_TEXT]);
		good = put_back(context, (char *[]){ fields[JOURNAL_WHAT], fields[JOURNAL_NAME],
						     value, fields[JOURNAL_TEXT] });
		free(value);
	}
	free(now);
	return good;
}

/* Tasks that began while the shield was set have what it gave to whoever began them. */
static bool put_heirs_back(struct context *context, const char *text)
{
	struct undo_shield_heir *failed;
	size_t count;
	bool good = !undo_shield_heirs(context->root, text, &context->journal->restored, &failed,
				       &count);

	for (size_t i = 0; i < count; i++) {
		good = fail_task(context, failed[i].tid, failed[i].list, failed[i].error);
		free(failed[i].tid);
		free(failed[i].list);
	}
	free(failed);
	return good;
}

/* The isolation of an attached task ends, and it gets back what it had. */
static bool detach(struct context *context, char **fields)
{
	const char *tid = fields[JOURNAL_NAME], *text = fields[JOURNAL_TEXT];
	char *list = text_format("%.*s", (int)strcspn(text, " "), text), *path;
	unsigned int policy, priority;
	struct cpulist cpus;
	struct task task;
	int error = 0, fd;

	if (!cpulist_read(list, &cpus) ||
	    sscanf(text + strlen(list), "%u %u", &policy, &priority) != 2) {
		free(list);
		return damaged(context, "a line of it is damaged, and was left out");
	}
	if (!task_read(&task, context->root, tid)) {
		free(list);
		return true;
	}
	if (!strcmp(task.start, fields[JOURNAL_VALUE])) {
		fd = device_open(context->root);
		error = fd < 0 ? 0 : device_stop(fd, (pid_t)strtol(tid, NULL, 10));
		if (fd >= 0)
			close(fd);
		/* It was not isolated, or its isolation has ended. */
		error = error == ESRCH ? 0 : error;
		if (!error && (task.policy != policy || task.priority != priority))
			error = task_schedule(&task, policy, priority);
		if (!error && memcmp(task.cpus.bits, cpus.bits, sizeof(cpus.bits)))
			error = task_set(&task, &cpus);
		task_free(&task);
		if (error == ESRCH || (!error && !task_read(&task, context->root, tid))) {
			free(list);
			return true;
		}
		if (!error && (memcmp(task.cpus.bits, cpus.bits, sizeof(cpus.bits)) ||
			       task.policy != policy || task.priority != priority))
			error = EBUSY;
	}
	if (error) {
		path = text_format("/proc/%s/status", tid);
		error_say("%s: %s: it should not be isolated any more, its affinity %s and its policy %u with priority %u: isolator detach %s as root",
			  path, strerror(error), list, policy, priority, tid);
		fail(context, path, text, strerror(error));
		free(path);
	}
	task_free(&task);
	free(list);
	return !error;
}

/* One change; false, said why: it stays. */
static bool undo_line(struct context *context, char **fields)
{
	static const struct {
		const char *what;
		bool path;
		bool (*undo)(struct context *context, char **fields);
	} kinds[] = {
		{ JOURNAL_SET, true, put_back },
		{ JOURNAL_CONTROLLER, true, put_controller_back },
		{ JOURNAL_GROUP, true, put_group_back },
		{ JOURNAL_TASK, false, put_task_back },
		{ JOURNAL_ATTACH, false, detach },
		{ JOURNAL_SHIELD_LIST, true, put_shielded_back },
		{ JOURNAL_SHIELD_MASK, true, put_shielded_back },
		{ JOURNAL_SHIELD_TEXT, true, put_shielded_back },
		{ JOURNAL_SHIELD_TASK, false, put_shielded_task_back },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(fields[JOURNAL_WHAT], kinds[i].what) &&
		    (!kinds[i].path || fields[JOURNAL_NAME][0] == '/'))
			return kinds[i].undo(context, fields);
	return damaged(context, "a line of it is damaged, or of a newer command, and was left out");
}

static bool is_held(const struct context *context, const char *name)
{
	for (size_t i = 0; i < context->nr_held; i++)
		if (!strcmp(context->held[i], name))
			return true;
	return false;
}

/* Is it no change, but says whose the journal is? */
static bool names_owner(char **fields)
{
	return !strcmp(fields[JOURNAL_WHAT], JOURNAL_RUN) ||
		!strcmp(fields[JOURNAL_WHAT], JOURNAL_SHIELD);
}

/* What @text notes comes before what older journals note of the same. */
static void hold(struct context *context, const char *text)
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
	char *fields[JOURNAL_FIELDS], *line;

	if (strlen(text) < strlen(JOURNAL_FIRST_LINE))
		return;
	line = text_format("%.*s", (int)strcspn(at, "\n"), at);
	if (journal_line_fields(line, fields) && !strcmp(fields[JOURNAL_WHAT], JOURNAL_RUN)) {
		journal->pid = text_format("%s", fields[JOURNAL_NAME]);
		journal->cpus = text_format("%s", fields[JOURNAL_VALUE]);
		journal->program = text_format("%s", fields[JOURNAL_TEXT]);
	} else {
		journal->cpus = undo_shield_cpus(text);
		journal->program = journal->cpus ? text_format("isolator shield") : NULL;
	}
	free(line);
}

/* Undoes @text; what stays is written to @left, the last line first. */
static void undo_text(struct context *context, const char *text, FILE *left)
{
	struct undo_journal *journal = context->journal;
	const char *end = NULL;
	char *line;

	while ((line = journal_line_last(text, &end))) {
		char *copy = text_format("%s", line), *fields[JOURNAL_FIELDS];
		bool stays = true;

		if (!journal_line_fields(copy, fields)) {
			damaged(context, "a line of it is damaged, and was left out");
			journal->failed++;
		} else if (names_owner(fields)) {
			/* The last of them: all that they began from are as they were. */
			if (!strcmp(fields[JOURNAL_WHAT], JOURNAL_SHIELD) &&
			    !put_heirs_back(context, text))
				journal->failed++;
			stays = journal->failed || journal->waiting;
		} else {
			if (is_held(context, fields[JOURNAL_NAME]))
				journal->waiting++;
			else if (!undo_line(context, fields))
				journal->failed++;
			else
				stays = false;
			journal->restored += !stays;
		}
		if (stays)
			fprintf(left, "%s\n", line);
		free(copy);
		free(line);
	}
}

/* The lines of @left, which are the last first, become the journal; 0 or the errno. */
static int replace(int directory, const char *name, const char *left, size_t size)
{
	char *new_name = text_format("new.%s", name);
	int fd, error;

	unlinkat(directory, new_name, 0);
	fd = openat(directory, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	error = fd < 0 ? errno : file_write_fd(fd, JOURNAL_FIRST_LINE, strlen(JOURNAL_FIRST_LINE));
	for (size_t at = size; !error && at;) {
		size_t from = at - 1;

		while (from && left[from - 1] != '\n')
			from--;
		error = file_write_fd(fd, left + from, at - from);
		at = from;
	}
	if (!error && fsync(fd))
		error = errno;
	if (!error && renameat(directory, new_name, directory, name))
		error = errno;
	if (error)
		unlinkat(directory, new_name, 0);
	if (fd >= 0)
		close(fd);
	free(new_name);
	return error;
}

static void undo_one(struct context *context, int directory, const char *name, const char *text)
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
		damaged(context, strerror(error));
		journal->failed++;
	}
	if (journal->failed)
		journal->state = UNDO_STAYS;
	else if (journal->waiting)
		journal->state = UNDO_WAITS;
	free(forward);
	free(left);
}

static void look(struct context *context, int directory, const struct store_entry *entry,
		 enum undo_which which)
{
	bool alive = false;
	int fd = store_open(directory, entry->name, &alive);
	char *text = fd < 0 ? NULL : journal_line_all(fd);
	char *attached = text ? journal_attached(context->root, text) : NULL;
	struct undo_journal *journal;

	journal = ARRAY_ADD(context->undo->journals, context->undo->count);
	journal->path = text_format("%s/%s", STORE_PATH, entry->name);
	context->journal = journal;
	if (!text) {
		damaged(context, errno == EBADMSG ?
			"it is damaged, or of another version of this command: move it away" :
			strerror(errno));
		journal->failed++;
		journal->state = UNDO_STAYS;
	} else {
		name_owner(journal, text);
		/* Of runs, only what they hold counts. */
		alive |= which == UNDO_SHIELD && entry->order;
		alive |= attached && (!context->detached || strcmp(context->detached, attached));
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

static int undo_all(struct context *context, enum undo_which which)
{
	struct undo *undo = context->undo;
	const char *root = context->root;
	int directory = store_lock(root, false, which == UNDO_RUNS || which == UNDO_SHIELD);
	struct store_entry *entries;
	size_t count;

	*undo = (struct undo){ 0 };
	if (directory < 0)
		return directory == -2 ? 0 : -1;
	entries = store_list(directory, &count);
	for (size_t i = 0; i < count; i++)
		if (entries[i].order || is_asked(entries[i].name, which))
			look(context, directory, &entries[i], which);
	store_free(entries, count);
	store_close(root, directory);
	for (size_t i = 0; i < context->nr_held; i++)
		free(context->held[i]);
	free(context->held);
	return 0;
}

int undo_journals(struct undo *undo, const char *root, enum undo_which which)
{
	struct context context = { .undo = undo, .root = root };

	return undo_all(&context, which);
}

int undo_attached(struct undo *undo, const char *root, const char *tid)
{
	struct context context = { .undo = undo, .root = root, .detached = tid };

	return undo_all(&context, UNDO_RUNS);
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

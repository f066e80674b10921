// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/setting.h"
#include "base/term.h"
#include "base/text.h"
#include "journal/journal.h"
#include "journal/line.h"
#include "journal/store.h"
#include "journal/undo_line.h"
#include "machine/task.h"

/* Far from what a command that reads it all can: whoever makes tasks could make it any size. */
#define MOST (64 << 20)

#define DAMAGED "damaged, or written by another version of this command: move it away"

static int fail(const struct journal *journal, const char *why)
{
	return store_fail(journal->root, journal->place, journal->name, why);
}

/* All of @text at the end of the file, on its way to the disk: 0 or the errno. */
static int append(int fd, const char *text, size_t size)
{
	int error = file_write_fd(fd, text, size);

	return error ? error : fsync(fd) ? errno : 0;
}

/* Goes on with what is there; 0 or the errno. */
static int resume(struct journal *journal)
{
	char *text = journal_line_all(journal->fd), *end;
	off_t whole;
	int error = 0;

	if (!text)
		return errno;
	/* What a crash has cut off was never acted on. */
	end = strrchr(text, '\n');
	whole = end ? end + 1 - text : 0;
	if (text[whole] && ftruncate(journal->fd, whole))
		error = errno;
	free(text);
	if (!error && !whole)
		error = append(journal->fd, JOURNAL_FIRST_LINE, strlen(JOURNAL_FIRST_LINE));
	journal->last = whole ? whole : (off_t)strlen(JOURNAL_FIRST_LINE);
	return error;
}

/* Makes or opens the file, and locks it; -1, said why. */
static int start(struct journal *journal, int flags)
{
	struct stat status;
	int error;

	journal->fd = openat(journal->directory, journal->name,
			     O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_CREAT |
			     flags, 0600);
	if (journal->fd < 0)
		return store_refuse(journal->root, journal->place, journal->name, errno, true);
	if (fstat(journal->fd, &status) || !S_ISREG(status.st_mode))
		return fail(journal, "not a file: move it away");
	if (flock(journal->fd, LOCK_EX | LOCK_NB))
		return fail(journal, store_lock_error(errno));
	error = resume(journal);
	return error ? fail(journal, error == EBADMSG ? DAMAGED : strerror(error)) : 0;
}

/* Notes what the journal @text of another run has changed, as it is now. */
static int share(struct journal *journal, const char *text)
{
	const char *end = NULL;
	char *line;
	int error = 0;

	journal->shared = true;
	while (!error && (line = journal_line_last(text, &end))) {
		char *fields[JOURNAL_FIELDS];
		const struct undo_kind *kind =
			journal_line_fields(line, fields) ? undo_kind(fields[JOURNAL_WHAT]) : NULL;

		if (kind && kind->share)
			error = kind->share(journal, fields);
		free(line);
	}
	return error;
}

char *journal_attached(const char *root, const char *text)
{
	const char *end = NULL;
	char *line, *tid = NULL;

	while (!tid && (line = journal_line_last(text, &end))) {
		char *fields[JOURNAL_FIELDS];
		const struct undo_kind *kind =
			journal_line_fields(line, fields) ? undo_kind(fields[JOURNAL_WHAT]) : NULL;
		struct task task;

		if (kind && kind->attached &&
		    task_read(&task, root, fields[JOURNAL_NAME])) {
			if (!strcmp(task.start, fields[JOURNAL_VALUE]))
				tid = text_format("%s", task.tid);
			task_free(&task);
		}
		free(line);
	}
	return tid;
}

/* What is asked of the journal @text of a run, or of the task @attached (NULL: of none). */
typedef bool (*look_fn)(const char *text, const char *attached, void *data);

/* Is @look true of the journal of a run or of a task that lives, or of one that has ended? */
static bool any_run(const char *root, bool lives, look_fn look, void *data)
{
	int directory = root_trusted(root) && store_readable(root) ?
		store_lock(root, STORE_PATH, false, true) : -1;
	struct store_entry *entries;
	bool found = false;
	size_t count;

	if (directory < 0)
		return false;
	entries = store_list(directory, &count);
	for (size_t i = 0; i < count && !found; i++) {
		bool alive = false;
		int fd = store_open(directory, entries[i].name, &alive);
		char *text = fd < 0 ? NULL : journal_line_all(fd);
		char *attached = text ? journal_attached(root, text) : NULL;

		found = text && (alive || attached) == lives && look(text, attached, data);
		free(attached);
		free(text);
		if (fd >= 0)
			close(fd);
	}
	store_free(entries, count);
	store_close(root, STORE_PATH, directory);
	return found;
}

static bool has_task(const char *text, const char *attached, void *tid)
{
	(void)text;
	return attached && !strcmp(attached, tid);
}

bool journal_is_attached(const char *root, const char *tid)
{
	return any_run(root, true, has_task, (void *)(uintptr_t)tid);
}

/*
 * The line of the journal @text that names its run, taken apart into @fields; to be freed.
 * NULL: it is none of a run.
 */
static char *run_line(const char *text, char *fields[JOURNAL_FIELDS])
{
	const char *end = NULL;
	char *line;

	while ((line = journal_line_last(text, &end))) {
		if (journal_line_fields(line, fields) &&
		    !strcmp(fields[JOURNAL_WHAT], JOURNAL_RUN))
			break;
		free(line);
	}
	return line;
}

static bool add_cpus(const char *text, const char *attached, void *data)
{
	struct cpulist *taken = data, cpus;
	char *fields[JOURNAL_FIELDS], *line = run_line(text, fields);

	(void)attached;
	if (line && cpulist_read(fields[JOURNAL_VALUE], &cpus))
		cpulist_union(taken, &cpus);
	free(line);
	return false;
}

struct cpulist journal_taken(const char *root)
{
	struct cpulist taken = { 0 };

	any_run(root, true, add_cpus, &taken);
	return taken;
}

static bool name_run(const char *text, const char *attached, void *data)
{
	char *fields[JOURNAL_FIELDS], *line = run_line(text, fields), **told = data;

	(void)attached;
	if (line)
		*told = text_format("PID %s (%s) ended without undoing what it changed for CPU %s: isolator restore undoes it",
				    fields[JOURNAL_NAME], fields[JOURNAL_TEXT],
				    fields[JOURNAL_VALUE]);
	free(line);
	return *told;
}

void journal_put_killed(FILE *out, const char *root)
{
	struct term_folded folded;
	char *told = NULL;
	int error = errno;	/* of a caller that has failed, and still says why */

	any_run(root, false, name_run, &told);
	if (told) {
		term_folded_open(&folded);
		term_put(folded.stream, told);
		fputc('\n', folded.stream);
		term_folded_close(&folded, out);
	}
	free(told);
	errno = error;
}

/* Does the run whose journal is @text have one of these CPUs, or this task?  -1, said so. */
static int conflict(const struct journal_owner *owner, const char *text)
{
	char *fields[JOURNAL_FIELDS], *line = run_line(text, fields);
	struct cpulist cpus;
	int error = -1;

	if (!line)
		return 0;
	if (strtol(fields[JOURNAL_NAME], NULL, 10) == owner->pid)
		error_say("%s is already attached, or is being attached now: run isolator detach %s first",
			  fields[JOURNAL_NAME], fields[JOURNAL_NAME]);
	else if (!cpulist_read(fields[JOURNAL_VALUE], &cpus))
		error = 0;
	else if (cpulist_common(&cpus, owner->cpus))
		error_say("CPU %s is taken: PID %s runs \"%s\" there. Wait until it ends or is detached, or choose another CPU",
			  fields[JOURNAL_VALUE], fields[JOURNAL_NAME], fields[JOURNAL_TEXT]);
	else if (owner->others && cpulist_common(&cpus, owner->others))
		error_say("PID %s started \"%s\" on CPU %s at the same time: try again",
			  fields[JOURNAL_NAME], fields[JOURNAL_TEXT], fields[JOURNAL_VALUE]);
	else
		error = 0;
	free(line);
	return error;
}

/* Looks at each run that lives: for conflicts first, then, once begun, to share. */
static int look_at_others(struct journal *journal, const struct journal_owner *owner,
			  const struct store_entry *entries, size_t count)
{
	int error = 0;

	for (size_t i = count; i-- && !error;) {
		bool alive = false;
		char *text, *attached;
		int fd;

		if (!entries[i].order)
			continue;
		fd = store_open(journal->directory, entries[i].name, &alive);
		text = fd < 0 ? NULL : journal_line_all(fd);
		attached = text ? journal_attached(journal->root, text) : NULL;
		if (alive || attached)
			error = !text ? 0 : journal->fd < 0 ? conflict(owner, text) : share(journal, text);
		free(attached);
		free(text);
		if (fd >= 0)
			close(fd);
	}
	return error;
}

static int open_run(struct journal *journal, const struct journal_owner *owner,
		    const struct store_entry *entries, size_t count)
{
	char *pid, *cpus;
	int error;

	if (look_at_others(journal, owner, entries, count))
		return -1;
	journal->name = text_format(STORE_RUN "%u", count ? entries[0].order + 1 : 1);
	if (start(journal, O_EXCL))
		return -1;
	pid = text_format("%d", (int)owner->pid);
	cpus = cpulist_text(owner->cpus);
	error = journal_note(journal, JOURNAL_RUN, pid, cpus, owner->program);
	free(cpus);
	free(pid);
	return error ? error : look_at_others(journal, owner, entries, count);
}

/* One that stays when the command has ended: -1, said why, as long as there is any of a run. */
static int open_lasting(struct journal *journal, const char *name,
			const struct store_entry *entries, size_t count)
{
	journal->name = text_format("%s", name);
	if (count && entries[0].order) {
		error_say("%s/%s: a run has changed settings, or was killed before it undid them: wait until it ends, or run isolator restore",
			  STORE_PATH, entries[0].name);
		return -1;
	}
	return start(journal, 0);
}

static int open_fix(struct journal *journal, const struct store_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(entries[i].name, STORE_SHIELD)) {
			journal->name = text_format("%s", STORE_FIX);
			error_say("%s/%s: a shield is set, and clearing it would undo what --fix changes. Run isolator shield clear, then audit --fix, then set the shield again",
				  STORE_PATH, STORE_SHIELD);
			return -1;
		}
	return open_lasting(journal, STORE_FIX, entries, count);
}

/* That of @owner's run, or if that is NULL the one @name; @wait as store_lock(). */
static int open_any(struct journal *journal, const char *root, const char *place,
		    const char *name, const struct journal_owner *owner, bool wait)
{
	struct store_entry *entries;
	size_t count;
	int error;

	*journal = (struct journal){ .root = root, .place = place, .fd = -1 };
	journal->directory = store_lock(root, place, true, wait);
	if (journal->directory < 0)
		return -1;
	entries = store_list(journal->directory, &count);
	if (owner)
		error = open_run(journal, owner, entries, count);
	else if (!strcmp(name, STORE_FIX))
		error = open_fix(journal, entries, count);
	else
		error = open_lasting(journal, name, entries, count);
	store_free(entries, count);
	if (error) {
		/* What was made for a run that does not begin; a journal of before stays. */
		if (owner && journal->fd >= 0)
			unlinkat(journal->directory, journal->name, 0);
		if (journal->fd >= 0)
			close(journal->fd);
		journal_settle(journal);
		free(journal->name);
	}
	return error;
}

int journal_open(struct journal *journal, const char *root, const struct journal_owner *owner)
{
	return open_any(journal, root, STORE_PATH, STORE_FIX, owner, owner);
}

int journal_open_shield(struct journal *journal, const char *root)
{
	return open_any(journal, root, STORE_PATH, STORE_SHIELD, NULL, true);
}

int journal_open_boot(struct journal *journal, const char *root)
{
	return open_any(journal, root, STORE_LASTING, STORE_BOOT, NULL, false);
}

int journal_note(struct journal *journal, const char *what, const char *name, const char *value,
		 const char *text)
{
	const char *const fields[] = { what, name, value, text };
	struct stat status;
	size_t size;
	char *line;
	int error;

	if (fstat(journal->fd, &status))
		return fail(journal, strerror(errno));
	journal->last = status.st_size;
	if (status.st_size > MOST)
		return fail(journal, "it is full, so nothing more is changed: isolator shield clear and isolator restore undo what it notes");
	line = journal_line_make(fields, &size);
	error = append(journal->fd, line, size);
	free(line);
	if (!error)
		return 0;
	journal_forget(journal);
	return fail(journal, strerror(error));
}

int journal_note_task(struct journal *journal, const struct task *task)
{
	char *list = cpulist_text(&task->cpus);
	int error = journal_note(journal, JOURNAL_TASK, task->tid, task->start, list);

	free(list);
	return error;
}

int journal_rewrite(struct journal *journal, const char *text, size_t size)
{
	int fd, error = store_replace(journal->directory, journal->name, text, size, &fd);

	if (error)
		return fail(journal, strerror(error));
	close(journal->fd);
	journal->fd = fd;
	journal->last = (off_t)size;
	return 0;
}

void journal_forget(struct journal *journal)
{
	if (ftruncate(journal->fd, journal->last))
		fail(journal, strerror(errno));
}

void journal_settle(struct journal *journal)
{
	if (journal->directory >= 0)
		store_close(journal->root, journal->place, journal->directory);
	journal->directory = -1;
}

void journal_close(struct journal *journal)
{
	struct stat status;

	if (journal->directory >= 0 && !fstat(journal->fd, &status) &&
	    status.st_size <= (off_t)strlen(JOURNAL_FIRST_LINE))
		unlinkat(journal->directory, journal->name, 0);
	close(journal->fd);
	journal_settle(journal);
	free(journal->name);
}

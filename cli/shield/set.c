// SPDX-License-Identifier: GPL-2.0-or-later
/* Applies the masks to what is there: files first, then tasks until none is left to move. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/setting.h"
#include "base/text.h"
#include "journal/change.h"
#include "machine/tasks.h"
#include "shield/shield.h"

#define ROUNDS 20	/* for tasks that begin meanwhile */
#define MOVES 2		/* that are noted of one task; who chooses anew all the time stays */
#define REFUSALS 100	/* that are reported one by one */

struct set {
	struct journal *journal;
	const struct shield_notes *notes;
	const struct shield_masks *masks;
	const struct cpulist *online;
	struct shield_done *done;
};

void shield_spare(const struct cpulist *was, const struct cpulist *mask,
		  const struct cpulist *online, bool may_be_empty, struct cpulist *left)
{
	*left = *was;
	cpulist_minus(left, mask);
	if (!cpulist_common(left, online) && !may_be_empty)
		*left = *was;
}

static void refuse(struct set *set, const char *path, const char *wanted, const char *why)
{
	struct shield_done *done = set->done;

	for (size_t i = 0; i < done->nr_refused; i++)
		if (!strcmp(done->refused[i].path, path))
			return;
	if (done->nr_refused == REFUSALS) {
		done->more_refused = true;
		return;
	}
	*ARRAY_ADD(done->refused, done->nr_refused) = (struct shield_refusal){
		text_format("%s", path), text_format("%s", wanted), text_trim(why),
	};
}

/* What the file is to hold, which was @base before; to be freed.  NULL: it holds no CPUs. */
static char *wanted(const struct set *set, const struct shield_place *place, const char *base)
{
	const struct cpulist *mask = &set->masks->of[place->shield];
	struct cpulist was, left;

	if (place->rest) {
		if (cpulist_empty(mask) || shield_place_rests(place, base))
			return setting_value(place->kind, base);
		return text_format("%s", place->rest);
	}
	if (!shield_place_cpus(place, base, &was))
		return NULL;
	shield_spare(&was, mask, set->online, place->may_be_empty, &left);
	if (cpulist_same(&left, &was))
		return setting_value(place->kind, base);
	return place->kind == SETTING_MASK ? cpulist_mask(&left) : cpulist_text(&left);
}

static int set_file(void *data, const struct shield_place *place)
{
	static const char *const words[] = {
		[SETTING_TEXT] = SHIELD_FILE_TEXT,
		[SETTING_LIST] = SHIELD_FILE_LIST,
		[SETTING_MASK] = SHIELD_FILE_MASK,
	};
	struct set *set = data;
	const char *base;
	char *value;
	int error = 0;

	if (place->fixed)
		return 0;
	base = shield_notes_file(set->notes, place->path, place->kind, place->text);
	value = wanted(set, place, base);
	if (value && !setting_holds(place->kind, place->text, value)) {
		struct change change = {
			.path = place->path,
			.kind = place->kind,
			.wanted = value,
			.what = words[place->kind],
			.base = base,
		};

		error = change_apply(&change, set->journal);
		if (!error && change.outcome == OUTCOME_FIXED)
			set->done->files++;
		else if (!error)
			refuse(set, place->path, value, change.now);
		change_free(&change);
	}
	free(value);
	return error;
}

/*
 * Looks whether the task has @left; it may have ended, or chosen otherwise just now.  If it was
 * @noted for nothing, that goes.
 */
static bool has_it(struct set *set, const struct tasks_one *one, const struct cpulist *left,
		   const char *path, const char *list, bool noted)
{
	struct task now;
	char *text;
	bool good;

	if (!task_again(&now, &one->task))
		return false;
	good = cpulist_same(&now.cpus, left);
	/* What it gets back is within its cpuset, which may have become smaller. */
	if (!good && noted && cpulist_same(&now.cpus, &one->task.cpus))
		journal_forget(set->journal);
	if (!good) {
		text = cpulist_text(&now.cpus);
		refuse(set, path, list, text);
		free(text);
	}
	task_free(&now);
	return good;
}

/* It gets @left, noted by @text if that is not NULL; as move(). */
static int give(struct set *set, const struct tasks_one *one, const struct cpulist *left,
		const char *path, const char *list, const char *text, bool *moved)
{
	int refused;

	if (text && journal_note(set->journal, SHIELD_TASK, one->task.tid, one->task.start, text))
		return -1;
	refused = task_set(&one->task, left);
	if (refused && text)
		journal_forget(set->journal);
	if (refused && refused != ESRCH)
		refuse(set, path, list, strerror(refused));
	else if (!refused)
		*moved = has_it(set, one, left, path, list, text);
	return 0;
}

/* The task is to have @left; *@moved if it does.  0, or -1, said why. */
static int move(struct set *set, const struct tasks_one *one, const struct cpulist *was,
		const struct cpulist *left, bool *moved)
{
	char *before = cpulist_text(was), *list = cpulist_text(left);
	char *path = text_format("/proc/%s", one->task.tid), *text = text_format("%s %s", before, list);
	const char *noted;
	unsigned int moves = shield_notes_moved(set->notes, one, &noted);
	bool anew = !noted || strcmp(noted, text);
	int error = 0;

	if (anew && moves >= MOVES)
		refuse(set, path, list,
		       "it chooses other CPUs again and again: end it, or forbid it these by a cpuset");
	else
		error = give(set, one, left, path, list, anew ? text : NULL, moved);
	free(text);
	free(path);
	free(list);
	free(before);
	return error;
}

/* All tasks once; counts those that were moved. */
static int one_round(struct set *set, unsigned int *moved)
{
	const struct cpulist *mask = &set->masks->of[SHIELD_PROCESSES];
	struct tasks tasks;
	int error = tasks_read(&tasks, set->journal->root);

	*moved = 0;
	for (size_t i = 0; i < tasks.count && !error; i++) {
		const struct tasks_one *one = &tasks.list[i];
		struct cpulist was, left;
		bool done = false;

		if (one->task.bound)
			continue;
		if (!shield_notes_task(set->notes, one, &was))
			was = one->task.cpus;
		shield_spare(&was, mask, set->online, false, &left);
		if (!cpulist_same(&left, &one->task.cpus))
			error = move(set, one, &was, &left, &done);
		*moved += done;
	}
	tasks_free(&tasks);
	return error;
}

int shield_apply(struct journal *journal, const struct shield_notes *notes,
		 const struct shield_masks *masks, const struct cpulist *online,
		 struct shield_done *done)
{
	struct set set = { journal, notes, masks, online, done };
	struct shield_notes present = { 0 };
	unsigned int moved = 1;
	int error = shield_files(journal->root, set_file, &set);

	for (int i = 0; !error && moved && i < ROUNDS; i++) {
		/* What the round before has noted counts for this one. */
		char *text = journal_line_all(journal->fd);

		shield_notes_free(&present);
		if (text)
			shield_notes_read(&present, text);
		free(text);
		set.notes = text ? &present : notes;
		error = one_round(&set, &moved);
		done->tasks += moved;
	}
	shield_notes_free(&present);
	return error;
}

void shield_done_free(struct shield_done *done)
{
	for (size_t i = 0; i < done->nr_refused; i++) {
		free(done->refused[i].path);
		free(done->refused[i].wanted);
		free(done->refused[i].why);
	}
	free(done->refused);
	*done = (struct shield_done){ 0 };
}

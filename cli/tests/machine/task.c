// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A task whose number another one gets: before a change, or, linked with
 * --wrap=setting_write_text, right after one that was made to the files of a machine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cpulist.h"
#include "base/file.h"
#include "base/setting.h"
#include "base/text.h"
#include "check.h"
#include "journal/undo_line.h"
#include "machine/task.h"

#define TID "77"
#define BEGAN "20"	/* the task */
#define LATER "30"	/* the other one */
#define STAT TID " (x) S 1 77 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %s 0 0 " \
	"0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0\n"
#define STATUS "Name:\tx\nTgid:\t77\nCpus_allowed_list:\t%s\nMems_allowed:\t1\n"

static char root[] = "/tmp/isolator-task-XXXXXX";
static bool after_change;	/* the other one comes after the next one */

int __wrap_setting_write_text(const char *root, const char *path, const char *text);
int __real_setting_write_text(const char *root, const char *path, const char *text);

/* The file of the task gets @text, which is freed. */
static void put_file(const char *name, char *text)
{
	char *path = text_format("%s/proc/" TID "/%s", root, name);

	CHECK(!file_replace(path, text, strlen(text)));
	free(path);
	free(text);
}

static void put_task(const char *start, const char *cpus)
{
	put_file("stat", text_format(STAT, start));
	put_file("status", text_format(STATUS, cpus));
}

static void other_comes(void)
{
	put_task(LATER, "3");
}

int __wrap_setting_write_text(const char *below, const char *path, const char *text)
{
	int error = __real_setting_write_text(below, path, text);

	if (after_change)
		other_comes();
	after_change = false;
	return error;
}

static struct cpulist cpus_of(const char *list)
{
	struct cpulist cpus;

	CHECK(cpulist_read(list, &cpus));
	return cpus;
}

/* Is there the other task, as it came? */
static bool untouched(void)
{
	struct cpulist own = cpus_of("3");
	struct task task;
	bool same;

	if (!task_read(&task, root, TID))
		return false;
	same = !strcmp(task.start, LATER) && cpulist_same(&task.cpus, &own) && !task.policy &&
		!task.priority;
	task_free(&task);
	return same;
}

static void before_a_change(void)
{
	struct cpulist cpus = cpus_of("0-1");
	struct task task, again;

	put_task(BEGAN, "0-3");
	CHECK(task_read(&task, root, TID) && task_again(&again, &task));
	task_free(&again);
	other_comes();
	CHECK(task_set(&task, &cpus) == ESRCH && untouched());
	CHECK(task_schedule(&task, 1, 7) == ESRCH && untouched());
	CHECK(!task_again(&again, &task));
	task_free(&task);
}

/* Undoes the line of a journal, and the other task comes after the first change. */
static void undo_line_of(const char *what, const char *text)
{
	struct undo undo = { 0 };
	struct undo_context context = { .undo = &undo, .root = root };
	char *fields[] = { text_format("%s", what), text_format(TID), text_format(BEGAN),
			   text_format("%s", text) };

	put_task(BEGAN, "0-1");
	after_change = true;
	CHECK(undo_line(&context, fields) && !undo.failed && !after_change && untouched());
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		free(fields[i]);
	undo_free(&undo);
}

static void undone(void)
{
	undo_line_of("task", "0-2");
	undo_line_of("attach", "0-2 0 0");
}

/* Its policy is given back first, and then its CPUs. */
static void between_changes(void)
{
	undo_line_of("attach", "0-2 1 7");
}

static void shield_undone(void)
{
	undo_line_of("shield-task", "0-2 0-1");
}

static void each_directory(int (*change)(const char *path), const char *first, const char *second)
{
	const char *const names[] = { first, second };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path = text_format("%s%s", root, names[i]);

		CHECK(!change(path));
		free(path);
	}
}

static int make(const char *path)
{
	return mkdir(path, 0700);
}

int main(void)
{
	static const struct test tests[] = {
		{ "before a change", before_a_change },
		{ "after a change that is undone", undone },
		{ "between two changes that are undone", between_changes },
		{ "after a change of the shield's that is undone", shield_undone },
	};
	int code;

	if (!mkdtemp(root))
		return 1;
	each_directory(make, "/proc", "/proc/" TID);
	code = check_run(tests, ARRAY_SIZE(tests));
	each_directory(unlink, "/proc/" TID "/stat", "/proc/" TID "/status");
	each_directory(rmdir, "/proc/" TID, "/proc");
	rmdir(root);
	return code;
}

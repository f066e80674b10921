// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/directory.h"
#include "base/error.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"
#include "journal/journal.h"
#include "run/group.h"
#include "run/undo.h"

#define CONTROLLER "cpuset"
#define CONTROLLERS GROUP_TOP "/cgroup.controllers"
#define SUBTREE_NAME "cgroup.subtree_control"
#define SUBTREE GROUP_TOP "/" SUBTREE_NAME
#define TRIES 100		/* for tasks that are ending, 10 ms each */
#define TRY_NS 10000000
#define FREEZE 10		/* of so many the second freezes what is still there */
#define FREEZE_TRIES 100	/* for it to stand still, 1 ms each */
#define FREEZE_TRY_NS 1000000

/* What the kernel shows in a new one, for a root that has no kernel. */
static const struct directory_file files[] = {
	{ "cgroup.procs", "" }, { SUBTREE_NAME, "\n" }, { "cpuset.cpus", "\n" },
	{ "cpuset.cpus.partition", "member\n" },
	{ 0 },
};

int group_possible(const char *root, const char **path)
{
	char *controllers = setting_read(root, CONTROLLERS);
	int fd, error = 0;

	*path = CONTROLLERS;
	if (!controllers)
		return errno;
	if (!setting_holds(SETTING_WORD, controllers, "+" CONTROLLER))
		error = ENOENT;
	free(controllers);
	if (error)
		return error;
	*path = GROUP_TOP;
	fd = root_open(root, GROUP_TOP, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || faccessat(fd, ".", W_OK, AT_EACCESS))
		error = errno;
	if (fd >= 0)
		close(fd);
	if (error)
		return error;
	*path = SUBTREE;
	fd = root_open(root, SUBTREE, O_WRONLY);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* The cgroup of a process, "self" for this one, to be freed; NULL: it cannot be read. */
static char *place(const char *root, const char *pid)
{
	char *file = text_format("/proc/%s/cgroup", pid), *text = setting_read(root, file), *path;
	const char *at;

	free(file);
	if (!text)
		return NULL;
	at = strstr(text, "0::/");
	if (at && (at == text || at[-1] == '\n') && at[4] != '\n')
		path = text_format("%s%.*s", GROUP_TOP, (int)strcspn(at + 3, "\n"), at + 3);
	else
		path = text_format("%s", GROUP_TOP);
	free(text);
	return path;
}

/* Writes @value to a file of the cgroup; false, with the state saying why. */
static bool put(struct group *group, enum setting_kind kind, const char *name, const char *value)
{
	char *path = text_format("%s/%s", group->path, name);
	int error = setting_write(group->root, path, value);
	char *now = setting_read(group->root, path);
	bool good = !error && now && setting_holds(kind, now, value);

	if (!good) {
		free(group->state);
		group->state = error ? text_format("%s: %s", path, strerror(error)) :
			text_trim(now ? now : "");
	}
	free(now);
	free(path);
	return good;
}

/* cpuset in all cgroups at the top: 0, or -1, said why. */
static int enable(struct group *group, struct journal *journal, bool *good)
{
	char *have = setting_read(group->root, SUBTREE), *now;
	int error = 0, refused;

	*good = have && setting_holds(SETTING_WORD, have, "+" CONTROLLER);
	if (have && !*good)
		error = journal_note(journal, RUN_CONTROLLER, SUBTREE, CONTROLLER, have);
	free(have);
	if (error || *good)
		return error;
	refused = setting_write(group->root, SUBTREE, "+" CONTROLLER);
	now = setting_read(group->root, SUBTREE);
	*good = !refused && now && setting_holds(SETTING_WORD, now, "+" CONTROLLER);
	if (!*good) {
		journal_forget(journal);
		group->state = text_format("%s: %s", SUBTREE,
					   refused ? strerror(refused) : "it does not stay on");
	}
	free(now);
	return 0;
}

/* Has the cgroup at the top CPUs or memory of its own?  Said, if so. */
static bool uses_cpuset(const char *root, const char *name)
{
	static const char *const settings[] = { "cpuset.cpus", "cpuset.mems" };
	bool used = false;

	for (size_t i = 0; i < ARRAY_SIZE(settings) && !used; i++) {
		char *path = text_format(GROUP_TOP "/%s/%s", name, settings[i]);
		char *text = setting_read(root, path);
		char *value = text ? text_trim(text) : NULL;

		used = value && *value;
		if (used)
			error_say(CONTROLLER " stays on: %s was set to %s meanwhile", path, value);
		free(value);
		free(text);
		free(path);
	}
	return used;
}

int group_disable(const char *root, const char *before)
{
	int fd, error;
	struct dirent *entry;
	bool used = false;
	DIR *names;

	if (setting_holds(SETTING_WORD, before, "+" CONTROLLER))
		return 0;
	fd = root_open(root, GROUP_TOP, O_RDONLY | O_DIRECTORY);
	names = fd < 0 ? NULL : fdopendir(fd);
	if (!names)
		return errno;
	while (!used && (entry = readdir(names)))
		used = entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
			uses_cpuset(root, entry->d_name);
	closedir(names);
	if (used)
		return 0;
	if (!root_live(root))
		return setting_write_text(root, SUBTREE, before);
	error = setting_write(root, SUBTREE, "-" CONTROLLER);
	/* One of them has it on for its own. */
	return error == EBUSY ? 0 : error;
}

/*
 * The limits of the cgroup @path and of those above it that a file shows: those of devices and
 * addresses are programs.  To be freed; NULL: there are none.
 */
static char *limits(const char *root, const char *path)
{
	static const char *const names[] = {
		"memory.max", "memory.high", "pids.max", "cpu.max", "io.max",
	};
	char *at = text_format("%s", path), *text;
	const char *comma = "";
	size_t size;
	FILE *out = text_open(&text, &size);

	for (; strlen(at) > strlen(GROUP_TOP); *strrchr(at, '/') = '\0') {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			char *file = text_format("%s/%s", at, names[i]);
			char *limit = setting_read(root, file);

			if (limit && strncmp(limit, "max", 3) && strcspn(limit, "\n")) {
				fprintf(out, "%s%s of %s", comma, names[i],
					at + strlen(GROUP_TOP));
				comma = ", ";
			}
			free(limit);
			free(file);
		}
	}
	fclose(out);
	free(at);
	if (*text)
		return text;
	free(text);
	return NULL;
}

int group_make(struct group *group, const char *root, pid_t pid, const struct cpulist *cpus,
	       struct journal *journal)
{
	char *from = place(root, "self"), *list = cpulist_text(cpus);
	bool good;
	int error;

	*group = (struct group){ .root = root };
	error = enable(group, journal, &good);
	if (!error && good) {
		group->path = text_format(GROUP_TOP "/isolator.%d", (int)pid);
		error = journal_note(journal, RUN_GROUP, group->path,
				     from ? from : GROUP_TOP, "-");
	}
	if (!error && good) {
		int refused = directory_make(root, group->path, files);

		if (refused) {
			journal_forget(journal);
			group->state = text_format("%s: %s", group->path, strerror(refused));
			free(group->path);
			group->path = NULL;
		} else {
			/*
			 * On below it too: so it cannot be turned off at the top, which systemd
			 * does as soon as none of its own slices needs it, and which unmakes the
			 * partition.
			 */
			group->isolated = put(group, SETTING_LIST, "cpuset.cpus", list) &&
				put(group, SETTING_WORD, SUBTREE_NAME, "+" CONTROLLER) &&
				put(group, SETTING_TEXT, "cpuset.cpus.partition", "isolated");
			if (group->isolated)
				group->state = text_format("isolated");
			group->left = limits(root, from ? from : GROUP_TOP);
		}
	}
	free(list);
	free(from);
	return error;
}

static int move(const char *root, const char *path, long pid)
{
	char *procs = text_format("%s/cgroup.procs", path), *value = text_format("%ld", pid);
	int error = setting_write(root, procs, value);

	free(value);
	free(procs);
	return error;
}

int group_enter(const struct group *group, pid_t pid)
{
	return move(group->root, group->path, pid);
}

void group_free(struct group *group)
{
	free(group->path);
	free(group->state);
	free(group->left);
	group->path = group->state = group->left = NULL;
}

/*
 * Is the process in the cgroup @path, as far as that can be told?  Seen from a container all
 * but the name may differ.
 */
static bool is_in(const char *root, const char *pid, const char *path)
{
	char *have = place(root, pid);
	bool same = !have || !strcmp(strrchr(have, '/'), strrchr(path, '/'));

	free(have);
	return same;
}

/* What runs in @path leaves it; zombies need not.  False: nothing runs there. */
static bool empty(const char *root, const char *path, const char *origin, unsigned int *moved)
{
	char *procs = text_format("%s/cgroup.procs", path);
	char *text = root_live(root) ? setting_read(root, procs) : NULL;
	char *next = text, *line;
	bool any = false;

	while ((line = strsep(&next, "\n"))) {
		long pid = strtol(line, NULL, 10);

		any |= pid > 0;
		/* It may have ended since the list was made, and its number be another's. */
		if (pid > 0 && is_in(root, line, path) &&
		    (!move(root, origin, pid) || !move(root, GROUP_TOP, pid)))
			(*moved)++;
	}
	free(text);
	free(procs);
	return any;
}

/* What runs in @path stops, or goes on; whoever leaves goes on by itself.  0 or the errno. */
static int freeze(const char *root, const char *path, bool still)
{
	char *name = text_format("%s/cgroup.freeze", path);
	int error = setting_write(root, name, still ? "1" : "0");

	free(name);
	return error;
}

static bool is_frozen(const char *root, const char *path)
{
	char *name = text_format("%s/cgroup.events", path), *text = setting_read(root, name);
	bool frozen = text && strstr(text, "frozen 1");

	free(text);
	free(name);
	return frozen;
}

/* The same for a program that forks faster than it is moved: it stands still meanwhile. */
static bool empty_frozen(const char *root, const char *path, const char *origin,
			 unsigned int *moved)
{
	const struct timespec nap = { .tv_nsec = FREEZE_TRY_NS };
	sigset_t all, before;
	bool any;

	/* This process would stop, too, and nobody would let them go on. */
	if (is_in(root, "self", path))
		return empty(root, path, origin, moved);
	/*
	 * No signal but SIGKILL ends this process before the others go on; whoever restores
	 * what is left behind then moves them out, and they do.
	 */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	/* What waits for hardware stops later, or not at all, but it does not fork either. */
	if (!freeze(root, path, true))
		for (int i = 0; i < FREEZE_TRIES && !is_frozen(root, path); i++)
			nanosleep(&nap, NULL);
	any = empty(root, path, origin, moved);
	freeze(root, path, false);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return any;
}

int group_remove(const char *root, const char *path, const char *origin,
		 unsigned int *moved)
{
	const struct timespec nap = { .tv_nsec = TRY_NS };
	bool any = false;
	int error;

	/* Nothing but a cgroup that this command has made. */
	if (strncmp(path, GROUP_TOP "/isolator.", strlen(GROUP_TOP "/isolator.")) ||
	    strchr(path + strlen(GROUP_TOP) + 1, '/'))
		return EINVAL;
	for (int i = 0;; i++) {
		any = any && i % FREEZE == 1 ? empty_frozen(root, path, origin, moved) :
			empty(root, path, origin, moved);
		error = directory_remove(root, path, files);
		/* A task that ends counts until it is gone. */
		if (error != EBUSY || i == TRIES)
			break;
		nanosleep(&nap, NULL);
	}
	return error == ENOENT ? 0 : error;
}

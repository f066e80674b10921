// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of a cgroup in which programs run, linked with --wrap for what asks the kernel: here
 * is one cgroup, in which whatever is to happen between two requests does.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/directory.h"
#include "base/setting.h"
#include "base/text.h"
#include "check.h"
#include "run/group.h"

#define NAME "isolator.7"
#define PATH GROUP_TOP "/" NAME
#define ORIGIN GROUP_TOP "/user.slice"
#define LOOKS 3		/* until a program that was told to freeze has done so */

enum kind { GONE, QUIET, FORKS, STUCK, SELF };

struct member {
	enum kind kind;
	long pid;
};

static struct {
	struct member members[4];
	bool cannot_freeze;	/* an older kernel */
	bool hidden;		/* nothing of /proc can be read */
	bool freeze;		/* it has been asked to */
	int looks;		/* since then */
	unsigned int freezes;
	long stranger;		/* listed, but its number is another's by now; 0: none */
	bool stranger_moved;
	bool open_to_signals;	/* while something was frozen */
} kernel;

char *__wrap_setting_read(const char *root, const char *path);
int __wrap_setting_write(const char *root, const char *path, const char *value);
int __wrap_directory_remove(const char *root, const char *path,
			    const struct directory_file *files);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

static bool frozen(void)
{
	return kernel.freeze && kernel.looks >= LOOKS;
}

static struct member *find(long pid)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernel.members); i++)
		if (kernel.members[i].kind != GONE && kernel.members[i].pid == pid)
			return &kernel.members[i];
	return NULL;
}

static bool is_empty(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernel.members); i++)
		if (kernel.members[i].kind != GONE)
			return false;
	return true;
}

static char *list(void)
{
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	for (size_t i = 0; i < ARRAY_SIZE(kernel.members); i++)
		if (kernel.members[i].kind != GONE)
			fprintf(out, "%ld\n", kernel.members[i].pid);
	if (kernel.stranger)
		fprintf(out, "%ld\n", kernel.stranger);
	fclose(out);
	return text;
}

char *__wrap_setting_read(const char *root, const char *path)
{
	bool inside = false;

	(void)root;
	if (!strcmp(path, PATH "/cgroup.procs"))
		return list();
	if (!strcmp(path, PATH "/cgroup.events")) {
		kernel.looks++;
		return text_format("populated 1\nfrozen %d\n", frozen());
	}
	if (!strncmp(path, "/proc/", strlen("/proc/")) && !kernel.hidden) {
		for (size_t i = 0; i < ARRAY_SIZE(kernel.members); i++)
			inside |= kernel.members[i].kind == SELF && strstr(path, "/self/");
		inside |= !!find(strtol(path + strlen("/proc/"), NULL, 10));
		return text_format("1:name=systemd:/\n0::/%s\n", inside ? NAME : "user.slice");
	}
	errno = ENOENT;
	return NULL;
}

static int move(long pid)
{
	struct member *member = find(pid);

	kernel.stranger_moved |= pid == kernel.stranger;
	if (!member)
		return pid == kernel.stranger ? 0 : ESRCH;
	if (member->kind == STUCK || member->kind == SELF)
		return EBUSY;
	if (member->kind == FORKS && !frozen()) {
		/* Its child is there, and itself it is not any more. */
		member->pid++;
		return ESRCH;
	}
	member->kind = GONE;
	return 0;
}

int __wrap_setting_write(const char *root, const char *path, const char *value)
{
	sigset_t now;

	(void)root;
	if (strcmp(path, PATH "/cgroup.freeze"))
		return move(strtol(value, NULL, 10));
	if (kernel.cannot_freeze)
		return ENOENT;
	kernel.freeze = *value == '1';
	kernel.freezes += kernel.freeze;
	kernel.looks = 0;
	sigprocmask(SIG_BLOCK, NULL, &now);
	kernel.open_to_signals |= !sigismember(&now, SIGTERM) || !sigismember(&now, SIGINT);
	return 0;
}

int __wrap_directory_remove(const char *root, const char *path, const struct directory_file *files)
{
	(void)root;
	(void)files;
	CHECK_TEXT(path, PATH);
	return is_empty() ? 0 : EBUSY;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time;
	(void)left;
	return 0;
}

/* A cgroup with these members, and what comes of its end. */
static const struct {
	const char *what;
	struct member members[3];
	bool cannot_freeze, hidden;
	long stranger;
	int error;
	unsigned int moved, freezes;
} cases[] = {
	{ "processes that wait", { { QUIET, 100 }, { QUIET, 200 } }, .moved = 2 },
	{ "programs that fork faster than they are moved",
	  { { FORKS, 100 }, { QUIET, 10000 }, { FORKS, 20000 } }, .moved = 3, .freezes = 1 },
	/* It goes on, where it is. */
	{ "a process that cannot be moved", { { STUCK, 100 } }, .error = EBUSY, .freezes = 10 },
	{ "this process in it", { { SELF, 100 }, { FORKS, 200 } }, .error = EBUSY },
	{ "a kernel that cannot freeze", { { FORKS, 100 }, { QUIET, 10000 } },
	  .cannot_freeze = true, .error = EBUSY, .moved = 1 },
	/* Who may be in it does not freeze it. */
	{ "whose cgroup cannot be read", { { FORKS, 100 }, { QUIET, 10000 } }, .hidden = true,
	  .error = EBUSY, .moved = 1 },
	{ "a number that is another process's by now", { { QUIET, 100 } }, .stranger = 4711,
	  .moved = 1 },
};

static size_t at;	/* the case */

static void one(void)
{
	unsigned int moved = 0;
	sigset_t after;

	memset(&kernel, 0, sizeof(kernel));
	memcpy(kernel.members, cases[at].members, sizeof(cases[at].members));
	kernel.cannot_freeze = cases[at].cannot_freeze;
	kernel.hidden = cases[at].hidden;
	kernel.stranger = cases[at].stranger;
	CHECK(group_remove("/", PATH, ORIGIN, &moved) == cases[at].error);
	CHECK(moved == cases[at].moved && kernel.freezes == cases[at].freezes);
	CHECK(!kernel.stranger_moved);
	sigprocmask(SIG_BLOCK, NULL, &after);
	CHECK(!sigismember(&after, SIGTERM) && !kernel.open_to_signals && !kernel.freeze);
	at++;
}

int main(void)
{
	struct test tests[ARRAY_SIZE(cases)];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		tests[i] = (struct test){ cases[i].what, one };
	return check_run(tests, ARRAY_SIZE(tests));
}

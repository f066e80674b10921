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
int __wrap_directory_remove(const char *root, const char *path);
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

int __wrap_directory_remove(const char *root, const char *path)
{
	(void)root;
	CHECK_TEXT(path, PATH);
	return is_empty() ? 0 : EBUSY;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time;
	(void)left;
	return 0;
}

/* What group_remove() says, and what has to be so whatever it is. */
static int removed(unsigned int *moved)
{
	sigset_t after;
	int error;

	*moved = 0;
	error = group_remove("/", PATH, ORIGIN, moved);
	sigprocmask(SIG_BLOCK, NULL, &after);
	CHECK(!sigismember(&after, SIGTERM) && !kernel.open_to_signals && !kernel.freeze);
	return error;
}

static void quiet(void)
{
	unsigned int moved;

	memset(&kernel, 0, sizeof(kernel));
	kernel.members[0] = (struct member){ QUIET, 100 };
	kernel.members[1] = (struct member){ QUIET, 200 };
	CHECK(!removed(&moved) && moved == 2 && !kernel.freezes);
}

static void forks(void)
{
	unsigned int moved;

	memset(&kernel, 0, sizeof(kernel));
	kernel.members[0] = (struct member){ FORKS, 100 };
	kernel.members[1] = (struct member){ QUIET, 10000 };
	kernel.members[2] = (struct member){ FORKS, 20000 };
	CHECK(!removed(&moved) && moved == 3 && kernel.freezes == 1);
}

/* It goes on, where it is. */
static void stuck(void)
{
	unsigned int moved;

	memset(&kernel, 0, sizeof(kernel));
	kernel.members[0] = (struct member){ STUCK, 100 };
	CHECK(removed(&moved) == EBUSY && !moved && kernel.freezes);
}

static void own(void)
{
	unsigned int moved;

	memset(&kernel, 0, sizeof(kernel));
	kernel.members[0] = (struct member){ SELF, 100 };
	kernel.members[1] = (struct member){ FORKS, 200 };
	CHECK(removed(&moved) == EBUSY && !moved && !kernel.freezes);
}

static void old(void)
{
	unsigned int moved;

	memset(&kernel, 0, sizeof(kernel));
	kernel.cannot_freeze = true;
	kernel.members[0] = (struct member){ FORKS, 100 };
	kernel.members[1] = (struct member){ QUIET, 10000 };
	CHECK(removed(&moved) == EBUSY && moved == 1);
}

static void stranger(void)
{
	unsigned int moved;

	memset(&kernel, 0, sizeof(kernel));
	kernel.members[0] = (struct member){ QUIET, 100 };
	kernel.stranger = 4711;
	CHECK(!removed(&moved) && moved == 1 && !kernel.stranger_moved);
}

/* Who may be in it does not freeze it. */
static void hidden(void)
{
	unsigned int moved;

	memset(&kernel, 0, sizeof(kernel));
	kernel.hidden = true;
	kernel.members[0] = (struct member){ FORKS, 100 };
	kernel.members[1] = (struct member){ QUIET, 10000 };
	CHECK(removed(&moved) == EBUSY && moved == 1 && !kernel.freezes);
}

int main(void)
{
	static const struct test tests[] = {
		{ "processes that wait", quiet },
		{ "programs that fork faster than they are moved", forks },
		{ "a process that cannot be moved", stuck },
		{ "this process in it", own },
		{ "a kernel that cannot freeze", old },
		{ "whose cgroup cannot be read", hidden },
		{ "a number that is another process's by now", stranger },
	};

	return check_run(tests, ARRAY_SIZE(tests));
}

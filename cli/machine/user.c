// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "machine/user.h"

/* A user's or a group's number; false: it is none. */
static bool to_id(const char *text, unsigned int *id)
{
	unsigned long value;

	if (!text || !*text || text[strspn(text, "0123456789")])
		return false;
	errno = 0;
	value = strtoul(text, NULL, 10);
	/* The last one stands for none. */
	if (errno || value >= UINT_MAX)
		return false;
	*id = (unsigned int)value;
	return true;
}

/* Looks for the user's name, or its number if @name is NULL, in /etc/passwd. */
static bool look_up(struct user *user, const char *name)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *entry;

	while (file && (entry = fgetpwent(file))) {
		if (name ? strcmp(entry->pw_name, name) != 0 : entry->pw_uid != user->uid)
			continue;
		user->uid = entry->pw_uid;
		user->gid = entry->pw_gid;
		user->name = text_format("%s", entry->pw_name);
		user->home = text_format("%s", entry->pw_dir);
		user->shell = text_format("%s", entry->pw_shell);
		break;
	}
	if (file)
		fclose(file);
	return user->name;
}

static void look_up_groups(struct user *user)
{
	FILE *file = fopen("/etc/group", "re");
	struct group *entry;

	*ARRAY_ADD(user->groups, user->nr_groups) = user->gid;
	while (file && user->name && (entry = fgetgrent(file)))
		for (char **member = entry->gr_mem; *member; member++)
			if (!strcmp(*member, user->name) && entry->gr_gid != user->gid) {
				*ARRAY_ADD(user->groups, user->nr_groups) = entry->gr_gid;
				break;
			}
	if (file)
		fclose(file);
}

int user_find(struct user *user, const char *name)
{
	const char *sudo = geteuid() ? NULL : getenv("SUDO_UID");
	unsigned int gid;

	*user = (struct user){ 0 };
	if (!name && (!sudo || !to_id(sudo, &user->uid) || !user->uid))
		return 0;
	if (!name) {
		if (!look_up(user, NULL)) {
			if (!to_id(getenv("SUDO_GID"), &gid)) {
				error_say("user %u is not in /etc/passwd, and SUDO_GID does not say its group: give --user",
					  user->uid);
				return -1;
			}
			user->gid = gid;
		}
	} else if (to_id(name, &user->uid) ? !look_up(user, NULL) : !look_up(user, name)) {
		error_say("--user: there is no user \"%s\" in /etc/passwd", name);
		return -1;
	}
	user->given = user->uid != geteuid();
	look_up_groups(user);
	return 0;
}

int user_become(const struct user *user)
{
	if (!user->given)
		return 0;
	if (setgroups(user->nr_groups, user->groups) ||
	    setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return errno;
	/* Nothing must lead back. */
	if (user->uid && !setuid(0))
		return EPERM;
	if (user->name && (setenv("USER", user->name, 1) || setenv("LOGNAME", user->name, 1) ||
			   setenv("HOME", user->home, 1) || setenv("SHELL", user->shell, 1)))
		return errno;
	return 0;
}

void user_free(struct user *user)
{
	free(user->groups);
	free(user->name);
	free(user->home);
	free(user->shell);
	*user = (struct user){ 0 };
}

bool user_may(int capability)
{
	static const char field[] = "\nCapEff:";
	size_t size;
	char *status = file_read("/proc/self/status", &size);
	const char *at = status ? strstr(status, field) : NULL;
	bool may = !at || strtoull(at + strlen(field), NULL, 16) >> capability & 1;

	free(status);
	return may;
}

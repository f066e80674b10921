// SPDX-License-Identifier: GPL-2.0-or-later
/* Is the program there?  Asked before anything is changed for it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "run/run.h"

#define NO_PATH "/bin:/usr/bin"	/* as execvp(3) has it where nothing is set */

/* 0, or the errno of execve(2) as far as a look can tell it. */
static int look_at(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return errno;
	if (!S_ISREG(status.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? errno : 0;
}

/* The same of a name without a slash, in each directory of $PATH. */
static int search(const char *name)
{
	const char *directories = getenv("PATH"), *at = directories ? directories : NO_PATH;
	int error = ENOENT;

	for (;;) {
		size_t length = strcspn(at, ":");
		char *path = text_format("%.*s%s%s", (int)length, at, length ? "/" : "", name);
		int here = look_at(path);

		free(path);
		if (!here)
			return 0;
		/* One that may not be run is named where there is no other. */
		if (here == EACCES)
			error = EACCES;
		at += length;
		if (!*at++)
			return error;
	}
}

int run_look_for_program(const struct run *run)
{
	const char *name = run->argv[0];
	int error = strchr(name, '/') ? look_at(name) : search(name);

	/* Another user may be allowed more, or less: the program's start will show. */
	if (!error || (run->user.given && error != ENOENT))
		return 0;
	return run_cannot_run(name, error);
}

int run_cannot_run(const char *name, int error)
{
	error_say("cannot run %s: %s", name, strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "interfere/program.h"

#define NOT_FOUND 127

bool program_exists(const char *name)
{
	const char *at = getenv("PATH");
	bool found = false;

	while (at && *at && !found) {
		size_t length = strcspn(at, ":");
		char *path = text_format("%.*s/%s", (int)length, at, name);

		found = length && !access(path, X_OK);
		free(path);
		at += length;
		at += *at == ':';
	}
	return found;
}

/* Never returns: the program, or NOT_FOUND. */
static void become(const char *const *arguments, pid_t parent, int out, int err)
{
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(out < 0 ? null : out, STDOUT_FILENO) < 0 ||
	    dup2(err < 0 ? null : err, STDERR_FILENO) < 0)
		_exit(NOT_FOUND);
	execvp(arguments[0], (char *const *)(uintptr_t)arguments);
	_exit(NOT_FOUND);
}

/* Its status; -1 with errno: there is no process for it. */
static int wait_for(pid_t child)
{
	int status;

	if (child < 0)
		return -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int program_run(struct work *work, const char *const *arguments, char said[WORK_TEXT])
{
	int text = memfd_create("said", MFD_CLOEXEC), status;
	pid_t parent = getpid(), child = text < 0 ? -1 : fork();
	ssize_t got;

	if (!child)
		become(arguments, parent, -1, text);
	status = wait_for(child);
	if (status < 0)
		work_fail(work, "%s cannot begin: %s", arguments[0], strerror(errno));
	got = pread(text, said, WORK_TEXT - 1, 0);
	said[got > 0 ? got : 0] = '\0';
	said[strcspn(said, "\n")] = '\0';
	close(text);
	return status;
}

char *program_said(const char *const *arguments)
{
	int text = memfd_create("said", MFD_CLOEXEC), status;
	pid_t parent = getpid(), child = text < 0 ? -1 : fork();
	char *said = NULL;
	size_t size;

	if (!child)
		become(arguments, parent, text, text);
	status = wait_for(child);
	if (status >= 0 && status != NOT_FOUND && !lseek(text, 0, SEEK_SET))
		said = file_read_fd(text, &size);
	if (text >= 0)
		close(text);
	return said;
}

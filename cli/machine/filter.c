// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "machine/filter.h"

#define NOBODY 65534
#define SECONDS 60	/* of a processor */

/* In the child; returns if it cannot. */
static void run_filter(const char *const *arguments, int in, int out)
{
	const struct rlimit limit = { SECONDS, SECONDS };
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0 || dup2(nothing, STDERR_FILENO) < 0 ||
	    dup2(in < 0 ? nothing : in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    setrlimit(RLIMIT_CPU, &limit))
		return;
	/* Where there is no other user to become, as in some containers, it stays this one. */
	if (in >= 0 && !geteuid() && !setgroups(0, NULL) && !setgid(NOBODY) && setuid(NOBODY))
		return;
	execvp(arguments[0], (char *const *)(uintptr_t)arguments);
}

char *filter(const char *const *arguments, int in, size_t *size)
{
	int pipes[2], status = -1, error;
	char *text;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return NULL;
	pid = fork();
	if (!pid) {
		run_filter(arguments, in, pipes[1]);
		_exit(127);
	}
	error = errno;
	close(pipes[1]);
	text = pid < 0 ? NULL : file_read_fd(pipes[0], size);
	if (pid > 0 && !text)
		error = errno;
	close(pipes[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (text && WIFEXITED(status) && !WEXITSTATUS(status))
		return text;
	if (text)
		error = WIFEXITED(status) && WEXITSTATUS(status) == 127 ? ENOENT : EILSEQ;
	free(text);
	errno = error;
	return NULL;
}

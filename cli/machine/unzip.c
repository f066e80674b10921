// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "machine/unzip.h"

/* In the child; returns if it cannot. */
static void run_zcat(int from, int to)
{
	int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nothing >= 0)
		dup2(nothing, STDERR_FILENO);
	if (dup2(from, STDIN_FILENO) >= 0 && dup2(to, STDOUT_FILENO) >= 0)
		execlp("zcat", "zcat", (char *)NULL);
}

char *unzip(int fd, size_t *size)
{
	int pipes[2], status = -1, error;
	char *text;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return NULL;
	pid = fork();
	if (!pid) {
		run_zcat(fd, pipes[1]);
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
	if (text && WIFEXITED(status) && !WEXITSTATUS(status) && *size)
		return text;
	if (text)
		error = WIFEXITED(status) && WEXITSTATUS(status) == 127 ? ENOENT : EILSEQ;
	free(text);
	errno = error;
	return NULL;
}

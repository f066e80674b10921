// SPDX-License-Identifier: GPL-2.0-or-later
/* The spinner's control socket: one line out, one line of JSON back. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent.h"

#define CTL_PATH "/run/spinner.sock"

static int ctl_open(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = CTL_PATH };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	return fd;
}

int ctl_ask(const char *command, char *answer, size_t size, long ms)
{
	double until = now() + (double)ms / 1000;
	size_t len = 0;
	int fd = ctl_open();

	answer[0] = 0;
	if (fd < 0) {
		snprintf(answer, size, "no spinner at " CTL_PATH ": %s", strerror(errno));
		return -1;
	}
	if (dprintf(fd, "%s\n", command) < 0)
		goto out;
	while (len + 1 < size && !memchr(answer, '\n', len)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		double left = until - now();
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) <= 0)
			break;
		n = read(fd, answer + len, size - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
out:
	close(fd);
	answer[len] = 0;
	if (!strchr(answer, '\n'))
		return -1;
	answer[strcspn(answer, "\n")] = 0;
	return 0;
}

bool ctl_number(const char *json, const char *key, long *value)
{
	char want[64];
	const char *p;

	snprintf(want, sizeof(want), "\"%s\":", key);
	p = strstr(json, want);
	if (!p)
		return false;
	*value = strtol(p + strlen(want), NULL, 10);
	return true;
}

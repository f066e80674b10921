// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "ctl.h"

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* 0, or -errno: the line may have begun by then. */
static int take_line(int fd, char *answer, size_t size, int64_t until)
{
	size_t got = 0;

	while (!memchr(answer, '\n', got)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = until - now_ms();
		ssize_t n;

		if (got == size - 1)
			return -EMSGSIZE;
		if (left <= 0 || !poll(&p, 1, (int)left))
			return -ETIMEDOUT;
		n = read(fd, answer + got, size - 1 - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		got += (size_t)n;
		answer[got] = 0;
	}
	*strchr(answer, '\n') = 0;
	return 0;
}

int spinner_ask(const char *path, const char *command, char *answer, size_t size, long ms)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	answer[0] = 0;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    dprintf(fd, "%s\n", command) < 0)
		error = -errno;
	else
		error = take_line(fd, answer, size, now_ms() + ms);
	close(fd);
	return error;
}

long long spinner_number(const char *json, const char *key)
{
	char word[64];
	const char *at;

	snprintf(word, sizeof(word), "\"%s\":", key);
	at = strstr(json, word);
	return at ? strtoll(at + strlen(word), NULL, 10) : -1;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "ctl.h"

int spinner_ask(const char *path, const char *command, char *answer, size_t size)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t got = 0;
	ssize_t n = 0;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    dprintf(fd, "%s\n", command) < 0) {
		n = -errno;
		close(fd);
		return (int)n;
	}
	while (got < size - 1 && !memchr(answer, '\n', got)) {
		n = read(fd, answer + got, size - 1 - got);
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	answer[got] = 0;
	answer[strcspn(answer, "\n")] = 0;
	close(fd);
	return got ? 0 : -EPIPE;
}

long long spinner_number(const char *json, const char *key)
{
	char word[64];
	const char *at;

	snprintf(word, sizeof(word), "\"%s\":", key);
	at = strstr(json, word);
	return at ? strtoll(at + strlen(word), NULL, 10) : -1;
}

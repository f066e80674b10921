// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "token.h"

#define TOKEN_MAX 255
#define RANDOM 16	/* bytes, two digits each */

/* @own: who else could have made it knows it, and a link leads to what is another's. */
static char *read_first_line(const char *path, bool own)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
			(own ? O_NOFOLLOW : 0));
	char token[TOKEN_MAX + 2] = "";
	struct stat about;
	ssize_t got;

	if (file < 0 || fstat(file, &about))
		fail("cannot open %s: %s", path, strerror(errno));
	if (own && (about.st_uid != geteuid() || !S_ISREG(about.st_mode)))
		fail("%s was not made by this user: remove it, or say with --token-file what hosts have to know",
		     path);
	if (about.st_mode & 077)
		fail("%s can be read by others: chmod 600 %s", path, path);
	got = read(file, token, sizeof(token) - 1);
	close(file);
	if (got < 0)
		fail("cannot read %s: %s", path, strerror(errno));
	token[strcspn(token, "\n")] = 0;
	if (!token[0] || strlen(token) > TOKEN_MAX)
		fail("the first line of %s must have 1 to %d characters: openssl rand -hex 16 > %s",
		     path, TOKEN_MAX, path);
	return strdup(token);
}

static void write_random(int file, const char *path)
{
	unsigned char bytes[RANDOM];
	bool done = getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes);

	for (unsigned int i = 0; i < RANDOM; i++)
		done = done && dprintf(file, "%02x", bytes[i]) == 2;
	done = done && dprintf(file, "\n") == 1;
	if (close(file) || !done) {
		unlink(path);
		fail("cannot write %s: %s", path, strerror(errno));
	}
}

char *token_read(const char *path)
{
	return read_first_line(path, false);
}

char *token_own(const char *socket, char *path, size_t size)
{
	int file;

	if ((size_t)snprintf(path, size, "%s.token", socket) >= size)
		fail("%s: too long a name", socket);
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file >= 0)
		write_random(file, path);
	else if (errno != EEXIST)
		fail("cannot make %s: %s; say with --token-file what hosts have to know", path,
		     strerror(errno));
	return read_first_line(path, true);
}

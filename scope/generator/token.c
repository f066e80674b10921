// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "token.h"

#define TOKEN_MAX 255
#define RANDOM 16	/* bytes, two digits each */
#define DIGITS ((size_t)2 * RANDOM)

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
		fail("%s was not made by this user: remove it, or say with --token-file what hosts must know",
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
	/* Part of one can be guessed. */
	if (own && (strlen(token) != DIGITS || token[strspn(token, "0123456789abcdef")]))
		fail("%s does not hold %zu digits, as it was made: remove it, and the next start makes one",
		     path, DIGITS);
	return strdup(token);
}

/* It has its name when it is whole: whenever this is killed, the next start finds all or none. */
static void make_own(const char *path)
{
	unsigned char bytes[RANDOM];
	char line[DIGITS + 2], *beside;
	int file, error;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		fail("no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < RANDOM; i++)
		snprintf(line + 2 * i, 3, "%02x", bytes[i]);
	line[DIGITS] = '\n';
	if (asprintf(&beside, "%s.new", path) < 0)
		fail("no memory");
	unlink(beside);
	file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0)
		fail("cannot make %s: %s; say with --token-file what hosts must know", path,
		     strerror(errno));
	/* What write() does not say of a part. */
	errno = ENOSPC;
	if (write(file, line, DIGITS + 1) != (ssize_t)DIGITS + 1 || close(file) ||
	    rename(beside, path)) {
		error = errno;
		unlink(beside);
		fail("cannot write %s: %s", path, strerror(error));
	}
	free(beside);
}

char *token_read(const char *path)
{
	return read_first_line(path, false);
}

char *token_own(const char *socket, char *path, size_t size)
{
	struct stat about;

	if ((size_t)snprintf(path, size, "%s.token", socket) >= size)
		fail("%s: too long a name", socket);
	/* Nobody makes one meanwhile: this generator alone has these lines. */
	if (lstat(path, &about) && errno == ENOENT)
		make_own(path);
	return read_first_line(path, true);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "error.h"
#include "file.h"
#include "journal.h"
#include "root.h"
#include "setting.h"
#include "text.h"

#define FIRST_LINE "isolator-journal 1\n"
#define DIRECTORY "run/isolator"
#define NAME "journal"
#define NEW_NAME "journal.new"

static int fail(const char *root, const char *why)
{
	error_say("the journal of settings, %s%s: %s", root_live(root) ? "" : root, JOURNAL_PATH,
		  why);
	return -1;
}

/* A directory of its own, which only root may look into; -1 with errno. */
static int open_directory(const char *root, bool make)
{
	static const char *const names[] = { "run", "isolator" };
	int at = root_open(root, "/", O_PATH | O_DIRECTORY);

	for (size_t i = 0; i < ARRAY_SIZE(names) && at >= 0; i++) {
		int up = at, error;

		/* No link is followed: anybody may have made a capture. */
		if (make && mkdirat(up, names[i], i ? 0700 : 0755) && errno != EEXIST)
			at = -1;
		else
			at = openat(up, names[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		error = errno;
		close(up);
		errno = error;
	}
	return at;
}

static int open_file(const char *root, int flags)
{
	int directory = open_directory(root, flags & O_CREAT), fd, error;

	if (directory < 0)
		return -1;
	fd = openat(directory, NAME, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	error = errno;
	close(directory);
	errno = error;
	return fd;
}

/* Opens and locks; -1, said why, or without a word if there is none. */
static int open_locked(struct journal *journal, const char *root, int flags)
{
	struct stat status;

	*journal = (struct journal){ .root = root };
	journal->fd = open_file(root, flags);
	if (journal->fd < 0) {
		if (errno == ENOENT && !(flags & O_CREAT))
			return -1;
		fail(root, errno == EACCES || errno == EPERM || errno == EROFS ?
		     "it cannot be written, and without it nothing is changed: run it as root" :
		     strerror(errno));
		return -1;
	}
	if (flock(journal->fd, LOCK_EX | LOCK_NB)) {
		close(journal->fd);
		return fail(root, "another isolator command changes settings: try again when it has ended");
	}
	if (fstat(journal->fd, &status) || !S_ISREG(status.st_mode)) {
		close(journal->fd);
		return fail(root, "it is no file: move it away");
	}
	/* Who held the lock has removed it meanwhile. */
	if (!status.st_nlink) {
		close(journal->fd);
		return fail(root, "another isolator command has just ended: try again");
	}
	journal->last = status.st_size;
	return 0;
}

static void put_field(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~' || *text == '\\')
			fprintf(out, "\\%03o", (unsigned char)*text);
		else
			fputc(*text, out);
	}
}

/* All of @text at the end of the file, on its way to the disk: 0 or the errno. */
static int append(int fd, const char *text, size_t size)
{
	int error = file_write_fd(fd, text, size);

	return error ? error : fsync(fd) ? errno : 0;
}

/* What is there already, with a NUL; NULL: said why. */
static char *content(const struct journal *journal)
{
	size_t size, first = strlen(FIRST_LINE);
	char *text;

	if (lseek(journal->fd, 0, SEEK_SET) ||
	    !(text = file_read_fd(journal->fd, &size))) {
		fail(journal->root, strerror(errno));
		return NULL;
	}
	if (strlen(text) != size ||
	    strncmp(text, FIRST_LINE, size < first ? size : first)) {
		fail(journal->root, "it is damaged, or of another version of this command: move it away");
		free(text);
		return NULL;
	}
	return text;
}

int journal_open(struct journal *journal, const char *root)
{
	char *text, *end;
	off_t whole;
	int error = 0;

	if (open_locked(journal, root, O_CREAT))
		return -1;
	text = content(journal);
	if (!text) {
		close(journal->fd);
		return -1;
	}
	/* What a crash has cut off was never acted on. */
	end = strrchr(text, '\n');
	whole = end ? end + 1 - text : 0;
	if (whole != journal->last && ftruncate(journal->fd, whole))
		error = errno;
	if (!error && !whole)
		error = append(journal->fd, FIRST_LINE, strlen(FIRST_LINE));
	journal->last = whole ? whole : (off_t)strlen(FIRST_LINE);
	free(text);
	if (!error)
		return 0;
	close(journal->fd);
	return fail(root, strerror(error));
}

int journal_note(struct journal *journal, const char *path, const char *value,
		 const char *text)
{
	const char *fields[] = { path, value, text };
	struct stat status;
	size_t size;
	char *line;
	FILE *out;
	int error;

	if (fstat(journal->fd, &status))
		return fail(journal->root, strerror(errno));
	journal->last = status.st_size;
	out = text_open(&line, &size);
	fputs("set", out);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fputc('\t', out);
		put_field(out, fields[i]);
	}
	fputc('\n', out);
	fclose(out);
	error = append(journal->fd, line, size);
	free(line);
	if (!error)
		return 0;
	journal_forget(journal);
	return fail(journal->root, strerror(error));
}

void journal_forget(struct journal *journal)
{
	if (ftruncate(journal->fd, journal->last))
		fail(journal->root, strerror(errno));
}

/* Removes the file; its directory too, if nothing else is in it. */
static void remove_file(const char *root)
{
	int directory = open_directory(root, false), top;

	if (directory < 0)
		return;
	unlinkat(directory, NAME, 0);
	close(directory);
	top = root_open(root, "/", O_PATH | O_DIRECTORY);
	if (top < 0)
		return;
	unlinkat(top, DIRECTORY, AT_REMOVEDIR);
	close(top);
}

void journal_close(struct journal *journal)
{
	struct stat status;

	if (!fstat(journal->fd, &status) && status.st_size <= (off_t)strlen(FIRST_LINE))
		remove_file(journal->root);
	close(journal->fd);
}

/* \ooo into its byte, in place; false: there is something else behind a backslash. */
static bool unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned int byte = 0;

		if (*text != '\\') {
			*to++ = *text;
			continue;
		}
		for (int i = 0; i < 3; i++) {
			if (*++text < '0' || *text > '7')
				return false;
			byte = byte * 8 + (unsigned int)(*text - '0');
		}
		if (!byte || byte > 255)
			return false;
		*to++ = (char)byte;
	}
	*to = '\0';
	return true;
}

/* Puts one change back; false, said why: it stays. */
static bool put_back(const char *root, char *line)
{
	char *fields[4], *now;
	bool same;
	int error;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strsep(&line, "\t");
		if (!fields[i] || !unescape(fields[i])) {
			fail(root, "a line of it is damaged, and was left out");
			return false;
		}
	}
	if (line || strcmp(fields[0], "set") || fields[1][0] != '/') {
		fail(root, "a line of it is damaged, or of a newer command, and was left out");
		return false;
	}
	error = root_live(root) ? setting_write(root, fields[1], fields[2]) :
		setting_write_text(root, fields[1], fields[3]);
	if (error) {
		error_say("%s: %s: it should be \"%s\" again", fields[1], strerror(error),
			  fields[2]);
		return false;
	}
	now = setting_read(root, fields[1]);
	same = now && !strcmp(now, fields[3]);
	if (!same)
		error_say("%s was set to \"%s\" again, but shows \"%s\"", fields[1], fields[2],
			  now ? now : strerror(errno));
	free(now);
	return same;
}

/* The lines of @left, which are the last first, become the journal; 0 or the errno. */
static int replace(const char *root, const char *left, size_t size)
{
	int directory = open_directory(root, false), fd, error;

	if (directory < 0)
		return errno;
	unlinkat(directory, NEW_NAME, 0);
	fd = openat(directory, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	error = fd < 0 ? errno : file_write_fd(fd, FIRST_LINE, strlen(FIRST_LINE));
	for (size_t at = size; !error && at;) {
		size_t from = at - 1;

		while (from && left[from - 1] != '\n')
			from--;
		error = append(fd, left + from, at - from);
		at = from;
	}
	if (!error && renameat(directory, NEW_NAME, directory, NAME))
		error = errno;
	if (fd >= 0)
		close(fd);
	close(directory);
	return error;
}

int journal_restore(const char *root)
{
	struct journal journal;
	char *text, *left, *line, *end;
	int stay = 0, error = 0;
	size_t size;
	FILE *out;

	if (open_locked(&journal, root, 0))
		return errno == ENOENT ? 0 : -1;
	text = content(&journal);
	if (!text) {
		close(journal.fd);
		return -1;
	}
	out = text_open(&left, &size);
	end = strrchr(text, '\n');
	/* From the end to the beginning; the first line is no change. */
	while (end && end > text + strlen(FIRST_LINE)) {
		char *copy;

		*end = '\0';
		line = strrchr(text, '\n') + 1;
		copy = text_format("%s", line);
		if (!put_back(root, copy)) {
			fprintf(out, "%s\n", line);
			stay++;
		}
		free(copy);
		end = line - 1;
	}
	fclose(out);
	if (stay)
		error = replace(root, left, size);
	else
		remove_file(root);
	close(journal.fd);
	free(left);
	free(text);
	return error ? fail(root, strerror(error)) : stay;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The archive is read here and not unpacked by tar(1), since somebody else has made it: as root
 * that would make the device nodes and links in it, and write through those links.  Nor does tar
 * bound how many files there are, how large they are, or how long their paths.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"
#include "machine/bundle.h"

#define BLOCK 512
#define NOTE "/isolator-audit"
#define FIRST_LINE "isolator-audit 1"
#define ERRNO_MAX 4095

/* POSIX.1-1988, the part of it that all archivers know. */
struct header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char sum[8];
	char type;
	char link[100];
	char magic[6];
	char version[2];
	char user[32];
	char group[32];
	char major[8];
	char minor[8];
	char prefix[155];
	char rest[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

static int damaged(const char *file, const char *why)
{
	error_say("%s: %s: it is damaged, or not an archive of isolator audit -o; save it again",
		  file, why);
	return -1;
}

/* The sum of all bytes, those of the sum itself taken for blanks. */
static unsigned int sum(const struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	unsigned int total = 0;

	for (size_t i = 0; i < BLOCK; i++)
		total += i >= offsetof(struct header, sum) && i < offsetof(struct header, type) ?
			' ' : bytes[i];
	return total;
}

/* An octal number, ended by a blank, a NUL or the field's end. */
static bool octal(const char *field, size_t size, uint64_t *number)
{
	size_t i = 0;

	while (i < size && field[i] == ' ')
		i++;
	if (i == size || field[i] < '0' || field[i] > '7')
		return false;
	for (*number = 0; i < size && field[i] >= '0' && field[i] <= '7'; i++)
		*number = *number * 8 + (uint64_t)(field[i] - '0');
	return i == size || !field[i] || field[i] == ' ';
}

/* The path of an entry, from the root; NULL: it leads out of there. */
static char *entry_path(const struct header *header)
{
	char *name = text_format("%.*s%s%.*s", (int)sizeof(header->prefix), header->prefix,
				 *header->prefix ? "/" : "", (int)sizeof(header->name),
				 header->name);
	const char *at = name + (strncmp(name, "./", 2) ? 0 : 2);
	char *path;
	size_t length;

	while (*at == '/')
		at++;
	path = text_format("/%s", at);
	length = strlen(path);
	free(name);
	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	if (!strstr(path, "/../") && (length < 3 || strcmp(path + length - 3, "/..")))
		return path;
	free(path);
	return NULL;
}

static int error_number(const char *name)
{
	for (int i = 1; i <= ERRNO_MAX; i++) {
		const char *known = strerrorname_np(i);

		if (known && !strcmp(known, name))
			return i;
	}
	return 0;
}

/* @text is cut into words. */
static int take_note(struct capture *capture, const char *where, char *text)
{
	char *line = strsep(&text, "\n");

	if (strcmp(line, FIRST_LINE))
		return damaged(where, "its note, isolator-audit, is of no version that this command knows");
	while (text && (line = strsep(&text, "\n")) && *line) {
		const char *word = strsep(&line, " ");

		if (line && !strcmp(word, "cpus")) {
			free(capture->cpus);
			capture->cpus = text_format("%s", line);
		} else if (line && !strcmp(word, "unreadable")) {
			const char *name = strsep(&line, " ");
			int error = error_number(name);

			if (!line || *line != '/' || !error || error == ENOENT)
				return damaged(where, "its note, isolator-audit, has a line that says nothing");
			if (!capture_find(capture, line))
				capture_add(capture, line)->error = error;
		}
	}
	return 0;
}

int bundle_note(struct capture *capture)
{
	char *where, *text;
	size_t size;
	int result;

	text = root_read(capture->root, NOTE, &size);
	if (!text)
		return errno == ENOENT || errno == ENOTDIR ? 0 :
			damaged(capture->root, strerror(errno));
	where = text_format("%s%s", capture->root, NOTE);
	result = strlen(text) == size ? take_note(capture, where, text) :
		damaged(where, "it is not a text file");
	free(where);
	free(text);
	return result;
}

/* One entry with @left bytes behind its header; how many blocks they are, -1: said why. */
static int64_t take_entry(struct capture *capture, const struct header *header, size_t left)
{
	const char *data = (const char *)header + BLOCK;
	struct capture_file *file;
	uint64_t size, mode, want;
	char *path, *text;

	if (memcmp(header->magic, "ustar", 5) || !octal(header->sum, sizeof(header->sum), &want) ||
	    want != sum(header))
		return damaged(capture->root, "it is not a tar archive, or one of its headers has changed");
	if (!octal(header->size, sizeof(header->size), &size) ||
	    !octal(header->mode, sizeof(header->mode), &mode) || size > left)
		return damaged(capture->root, "it is cut off");
	if (header->type == '5')
		return 0;
	path = entry_path(header);
	if (!path || (header->type != '0' && header->type != '\0')) {
		free(path);
		return damaged(capture->root, "it contains a file that is not of a capture");
	}
	file = capture_find(capture, path);
	if (!file)
		file = capture_add(capture, path);
	free(path);
	/* An archive may hold a file twice; the last one counts, as for tar. */
	free(file->text);
	free(file->value);
	text = malloc(size + 1);
	if (!text)
		exit(error_say("no memory"));
	memcpy(text, data, size);
	text[size] = '\0';
	file->mode = mode & 0777;
	capture_fill(file, text, size);
	return (int64_t)((size + BLOCK - 1) / BLOCK);
}

static int take_archive(struct capture *capture, const char *data, size_t size)
{
	static const char zeros[BLOCK];
	size_t at = 0;

	for (; at + BLOCK <= size && memcmp(data + at, zeros, BLOCK); at += BLOCK) {
		int64_t blocks = take_entry(capture, (const struct header *)(data + at),
					    size - at - BLOCK);

		if (blocks < 0)
			return -1;
		at += (size_t)blocks * BLOCK;
	}
	if (at + BLOCK > size)
		return damaged(capture->root, "it is cut off, or empty");
	return 0;
}

int bundle_read(struct capture *capture)
{
	struct capture_file *note;
	size_t size;
	char *data = file_read(capture->root, &size);
	int error;

	if (!data) {
		error_say("--root %s: %s", capture->root, strerror(errno));
		return -1;
	}
	error = take_archive(capture, data, size);
	free(data);
	if (error)
		return error;
	note = capture_find(capture, NOTE);
	if (!note)
		return damaged(capture->root, "it has no note, isolator-audit");
	return take_note(capture, capture->root, note->text);
}

/* As octal digits, the last byte is a NUL; false: it has no room. */
static bool put_number(char *field, size_t size, uint64_t number)
{
	field[--size] = '\0';
	while (size) {
		field[--size] = (char)('0' + number % 8);
		number /= 8;
	}
	return !number;
}

/* Splits @name so that both parts have room; false: it cannot be. */
static bool put_name(struct header *header, const char *name)
{
	size_t length = strlen(name);

	if (length <= sizeof(header->name)) {
		memcpy(header->name, name, length);
		return true;
	}
	for (size_t i = length - sizeof(header->name) - 1;
	     i < length && i <= sizeof(header->prefix); i++) {
		if (name[i] != '/' || !i)
			continue;
		memcpy(header->prefix, name, i);
		memcpy(header->name, name + i + 1, length - i - 1);
		return true;
	}
	return false;
}

/* One file; 0 or the errno. */
static int put_entry(FILE *out, const char *path, mode_t mode, const char *text, size_t size)
{
	static const char zeros[BLOCK];
	struct header header = { .type = '0' };
	size_t padding = (BLOCK - size % BLOCK) % BLOCK;

	memcpy(header.magic, "ustar", 6);
	memcpy(header.version, "00", 2);
	if (!put_name(&header, path + 1))
		return ENAMETOOLONG;
	if (!put_number(header.size, sizeof(header.size), size))
		return EFBIG;
	put_number(header.mode, sizeof(header.mode), mode);
	put_number(header.uid, sizeof(header.uid), 0);
	put_number(header.gid, sizeof(header.gid), 0);
	put_number(header.mtime, sizeof(header.mtime), 0);
	/* The sum has a NUL and then a blank behind it. */
	put_number(header.sum, sizeof(header.sum) - 1, sum(&header));
	header.sum[sizeof(header.sum) - 1] = ' ';
	fwrite(&header, 1, BLOCK, out);
	fwrite(text, 1, size, out);
	fwrite(zeros, 1, padding, out);
	return 0;
}

static char *make_note(const struct capture *capture, size_t *size)
{
	char *text;
	FILE *out = text_open(&text, size);

	fputs(FIRST_LINE "\n", out);
	if (capture->cpus)
		fprintf(out, "cpus %s\n", capture->cpus);
	for (size_t i = 0; i < capture->count; i++) {
		const struct capture_file *file = capture->files[i];

		if (file->error && file->error != ENOENT)
			fprintf(out, "unreadable %s %s\n", strerrorname_np(file->error),
				file->path);
	}
	fclose(out);
	return text;
}

/* All of the archive; 0 or the errno. */
static int put_archive(FILE *out, const struct capture *capture)
{
	static const char end[2 * BLOCK];
	size_t size;
	char *note = make_note(capture, &size);
	int error = put_entry(out, NOTE, 0644, note, size);

	free(note);
	for (size_t i = 0; i < capture->count && !error; i++) {
		const struct capture_file *file = capture->files[i];

		/*
		 * A bundle that is saved again has a new note.  What root alone could read
		 * of the machine, the owner of the unpacked files can.
		 */
		if (!file->error && strcmp(file->path, NOTE))
			error = put_entry(out, file->path, file->mode | 0400, file->text,
					  file->size);
	}
	fwrite(end, 1, sizeof(end), out);
	return error;
}

int bundle_print(const struct capture *capture)
{
	int error = put_archive(stdout, capture);

	if (error)
		error_say("standard output: %s: no archive was written", strerror(error));
	return error ? -1 : 0;
}

int bundle_write(const struct capture *capture, const char *file)
{
	struct file_new new;
	char *data;
	size_t size;
	FILE *out;
	int error;

	if (file_check_ordinary("--output", file))
		return -1;
	error = file_begin(&new, file, 0600);
	if (!error) {
		out = text_open(&data, &size);
		error = put_archive(out, capture);
		fclose(out);
		if (!error)
			error = file_end(&new, data, size);
		file_drop(&new);
		free(data);
	}
	if (!error)
		return 0;
	error_say("--output %s: %s: no archive was written", file, strerror(error));
	return -1;
}

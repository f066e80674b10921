// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tar(1) does the packing.  Somebody else may have made an archive that is read, so nothing of
 * it is unpacked to a disk: tar lists what is in it, then writes all contents one behind the
 * other, and what there may be is judged here.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"
#include "machine/bundle.h"
#include "machine/filter.h"
#include "machine/scratch.h"

#define NOTE "/isolator-audit"
#define FIRST_LINE "isolator-audit 1"
#define ERRNO_MAX 4095
#define BLOCK 512
#define CHANGED "it is cut off, a header of it has changed, or it is not a tar archive"
#define NO_TAR "tar is not installed, and it packs bundles: install it"

/* GNU's has a say in how names and times are written; BusyBox's writes them so. */
#define TAR_ENV "env", "LC_ALL=C", "TAR_OPTIONS=--quoting-style=literal --numeric-owner" \
	" --sort=name --owner=0 --group=0 --mtime=@0"

static int damaged(const char *file, const char *why)
{
	error_say("%s: %s: it is damaged, or not an archive of isolator audit -o; save it again",
		  file, why);
	return -1;
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

/* The path of an entry, from the root, to be freed; NULL: it leads out of there. */
static char *entry_path(const char *name)
{
	char *path = text_format("/%s", name + (strncmp(name, "./", 2) ? 0 : 2));
	size_t length = strlen(path);

	if (length > 1 && path[1] != '/' && !strstr(path, "/../") &&
	    (length < 3 || strcmp(path + length - 3, "/..")))
		return path;
	free(path);
	return NULL;
}

/* The bits of "rwxr-xr-x". */
static mode_t mode_of(const char *letters)
{
	mode_t mode = 0;

	for (int i = 0; i < 9; i++)
		mode = mode << 1 | (letters[i] != '-' && letters[i] != 'S' && letters[i] != 'T');
	return mode;
}

/* One line of tar's list, "-rw-r--r-- 0/0 5 1970-01-01 00:00 NAME". */
struct entry {
	char *path;	/* of the machine, to be freed; NULL: it is a directory */
	mode_t mode;
	uint64_t size;
};

/* False: it is no file of a capture. */
static bool read_entry(const char *line, struct entry *entry)
{
	int name = 0;

	*entry = (struct entry){ 0 };
	if (*line == 'd')
		return true;
	if (*line != '-' || sscanf(line, "%*10s %*s %" SCNu64 " %*s %*s%n", &entry->size,
				   &name) != 1 || !name || line[name] != ' ')
		return false;
	entry->mode = mode_of(line + 1);
	entry->path = entry_path(line + name + 1);
	return entry->path;
}

/* Files of a capture and directories, and nothing else. */
static bool is_capture(const char *list)
{
	bool good = true;

	for (; good && *list; list += strcspn(list, "\n"), list += *list == '\n') {
		char *line = text_format("%.*s", (int)strcspn(list, "\n"), list);
		struct entry entry;

		good = read_entry(line, &entry);
		free(entry.path);
		free(line);
	}
	return good;
}

static void take_entry(struct capture *capture, const struct entry *entry, const char *data)
{
	struct capture_file *file = capture_find(capture, entry->path);
	char *text = malloc(entry->size + 1);

	if (!text)
		error_no_memory();
	memcpy(text, data, entry->size);
	text[entry->size] = '\0';
	if (!file)
		file = capture_add(capture, entry->path);
	/* An archive may hold a file twice; the last one counts, as for tar. */
	free(file->text);
	free(file->value);
	file->mode = entry->mode;
	capture_fill(file, text, entry->size);
}

/* The files of tar's @list, whose contents are @data; false: they are not. */
static bool take_files(struct capture *capture, char *list, const char *data, size_t left)
{
	char *line;

	while ((line = strsep(&list, "\n")) && *line) {
		struct entry entry;
		bool good = read_entry(line, &entry) && entry.size <= left;

		if (good && entry.path) {
			take_entry(capture, &entry, data);
			data += entry.size;
			left -= entry.size;
		}
		free(entry.path);
		if (!good)
			return false;
	}
	return !left;
}

int bundle_take(struct capture *capture, char *list, const char *data, size_t size)
{
	const struct capture_file *note;

	if (!is_capture(list))
		return damaged(capture->root, "it holds something that does not belong to a capture");
	if (!take_files(capture, list, data, size))
		return damaged(capture->root, CHANGED);
	note = capture_find(capture, NOTE);
	if (!note)
		return damaged(capture->root, "it has no note, isolator-audit");
	return take_note(capture, capture->root, note->text);
}

/* All that an archive holds: 0, or -1, said why. */
static int take_archive(struct capture *capture, int archive)
{
	static const char *const listing[] = { TAR_ENV, "tar", "-tvf", "-", NULL };
	static const char *const copying[] = { TAR_ENV, "tar", "-xOf", "-", NULL };
	size_t length, size = 0;
	char *list = filter(listing, archive, &length), *data = NULL;
	bool good = list && is_capture(list);
	int result = -1;

	if (good && !lseek(archive, 0, SEEK_SET))
		data = filter(copying, archive, &size);
	if (list && (data || !good))
		result = bundle_take(capture, list, data, size);
	else if (errno == ENOENT)
		error_say("%s: " NO_TAR, capture->root);
	else
		damaged(capture->root, errno == EFBIG ? "it holds too much" : CHANGED);
	free(list);
	free(data);
	return result;
}

/* A copy of @data, which nobody changes; -1 with errno. */
static int hold(const char *data, size_t size)
{
	int fd = memfd_create("bundle", MFD_CLOEXEC);
	int error = fd < 0 ? errno : file_write_fd(fd, data, size);

	if (!error && !lseek(fd, 0, SEEK_SET))
		return fd;
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

int bundle_read(struct capture *capture)
{
	static const char zeros[BLOCK];
	size_t size;
	char *data = file_read(capture->root, &size);
	int archive = data ? hold(data, size) : -1, result;
	/* One that ends between two files is whole for tar. */
	bool ends = data && size >= BLOCK && !memcmp(data + size - BLOCK, zeros, BLOCK);

	if (archive < 0)
		error_say("--root %s: %s", capture->root, strerror(errno));
	free(data);
	if (archive < 0)
		return -1;
	result = ends ? take_archive(capture, archive) :
		damaged(capture->root, "it is cut off, or no tar archive");
	close(archive);
	return result;
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

/* Writes the file @path, and the directories above it, below @place; 0 or the errno. */
static int lay_file(const char *place, const char *path, mode_t mode, const char *text, size_t size)
{
	char *file = text_format("%s%s", place, path);
	int fd, error = 0;

	for (char *at = file + strlen(place); !error && (at = strchr(at + 1, '/'));) {
		*at = '\0';
		if (mkdir(file, 0755) && errno != EEXIST)
			error = errno;
		*at = '/';
	}
	fd = error ? -1 : open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && !error)
		error = errno;
	free(file);
	if (fd < 0)
		return error;
	error = file_write_fd(fd, text, size);
	if (!error && fchmod(fd, mode))
		error = errno;
	close(fd);
	return error;
}

/* An archive of all that @place gets, to be freed; NULL with errno. */
static char *pack(const struct capture *capture, const char *place, size_t *size)
{
	/* By the names at the top: whoever unpacks it keeps the mode of the directory he is in. */
	const char *const packing[] = {
		TAR_ENV, "sh", "-c", "cd -- \"$0\" && exec tar -cf - -- *", place, NULL
	};
	char *text = make_note(capture, size);
	int error = lay_file(place, NOTE, 0644, text, *size);

	free(text);
	for (size_t i = 0; i < capture->count && !error; i++) {
		const struct capture_file *file = capture->files[i];

		/*
		 * A bundle that is saved again has a new note.  What root alone could read
		 * of the machine, the owner of the unpacked files can.
		 */
		if (!file->error && strcmp(file->path, NOTE))
			error = lay_file(place, file->path, file->mode | 0400, file->text,
					 file->size);
	}
	if (!error)
		return filter(packing, -1, size);
	errno = error;
	return NULL;
}

/* Says why there is no archive; returns -1. */
static int unwritten(const char *file, const char *why)
{
	error_say("%s %s: %s: no archive was written", error_option("output"), file, why);
	return -1;
}

/* What an error of pack() means. */
static const char *why_not_packed(int error)
{
	return error == EILSEQ ? "tar fails" : error == ENOENT ? NO_TAR : strerror(error);
}

int bundle_print(const struct capture *capture)
{
	char *place, *why = scratch_make(&place), *data;
	size_t size;
	int error;

	if (why) {
		unwritten("-", why);
		free(why);
		return -1;
	}
	data = pack(capture, place, &size);
	error = data ? file_write_fd(STDOUT_FILENO, data, size) : errno;
	free(data);
	scratch_remove(place);
	return error ? unwritten("-", why_not_packed(error)) : 0;
}

int bundle_write(const struct capture *capture, const char *file)
{
	char *place, *why, *data;
	struct file_new new;
	size_t size;
	int error;

	if (file_check_ordinary("--output", file))
		return -1;
	error = file_begin(&new, file, 0600);
	if (error)
		return unwritten(file, strerror(error));
	why = scratch_make(&place);
	if (why) {
		unwritten(file, why);
		free(why);
		file_drop(&new);
		return -1;
	}
	data = pack(capture, place, &size);
	error = data ? file_end(&new, data, size) : errno;
	free(data);
	file_drop(&new);
	scratch_remove(place);
	if (!error)
		return 0;
	return unwritten(file, why_not_packed(error));
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/root.h"
#include "base/term.h"
#include "base/text.h"
#include "machine/bundle.h"
#include "machine/capture.h"

static int by_path(const void *a, const void *b)
{
	const struct capture_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strverscmp(*x, *y);
}

int capture_open(struct capture *capture, const char *root)
{
	struct stat status;
	int error;

	*capture = (struct capture){ .root = root };
	if (root_live(root))
		return 0;
	if (stat(root, &status)) {
		error_say("--root %s: %s: it must be a directory with the files of a machine, or an archive of isolator audit -o",
			  root, strerror(errno));
		return -1;
	}
	capture->kind = S_ISDIR(status.st_mode) ? CAPTURE_DIRECTORY : CAPTURE_BUNDLE;
	error = capture->kind == CAPTURE_BUNDLE ? bundle_read(capture) : bundle_note(capture);
	if (error)
		capture_free(capture);
	return error;
}

/* The files are freed with the array. */
static void keep(void *file)
{
	(void)file;
}

void capture_free(struct capture *capture)
{
	tdestroy(capture->tree, keep);
	for (size_t i = 0; i < capture->count; i++) {
		struct capture_file *file = capture->files[i];

		free((char *)file->path);
		free(file->text);
		free(file->value);
		free(file);
	}
	free(capture->files);
	free(capture->cpus);
	*capture = (struct capture){ 0 };
}

struct capture_file *capture_find(const struct capture *capture, const char *path)
{
	struct capture_file key = { .path = path };
	void *const *found = tfind(&key, &capture->tree, by_path);

	return found ? *found : NULL;
}

struct capture_file *capture_add(struct capture *capture, const char *path)
{
	struct capture_file *file = calloc(1, sizeof(*file));

	if (!file)
		error_no_memory();
	*file = (struct capture_file){ .path = text_format("%s", path), .error = ENOENT };
	if (!tsearch(file, &capture->tree, by_path))
		error_no_memory();
	*ARRAY_ADD(capture->files, capture->count) = file;
	return file;
}

void capture_fill(struct capture_file *file, char *text, size_t size)
{
	file->error = 0;
	file->text = text;
	file->size = size;
	file->value = text_trim(text);
}

void capture_fill_number(struct capture_file *file, uint64_t number)
{
	char *text = text_format("%" PRIu64 "\n", number);

	file->mode = 0444;
	capture_fill(file, text, strlen(text));
}

/* The text of a file of the machine or of a directory; NULL with errno. */
static char *take(const struct capture *capture, const char *path, size_t *size, mode_t *mode)
{
	int fd = root_open(capture->root, path, O_RDONLY), error;
	struct stat status;
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &status)) {
		*mode = status.st_mode & 0777;
		text = file_read_fd(fd, size);
	}
	error = errno;
	close(fd);
	errno = error;
	return text;
}

const struct capture_file *capture_read(struct capture *capture, const char *path)
{
	struct capture_file *file = capture_find(capture, path);
	size_t size;
	char *text;

	if (file)
		return file;
	file = capture_add(capture, path);
	if (capture->kind == CAPTURE_BUNDLE)
		return file;
	text = take(capture, path, &size, &file->mode);
	if (text)
		capture_fill(file, text, size);
	else
		/* A file that is none is one that is not there. */
		file->error = errno == ENOTDIR || errno == ELOOP ? ENOENT : errno;
	return file;
}

/* One that a terminal would not show as it is is no file's of a kernel. */
static void add_name(char ***names, size_t *count, const char *name, size_t length)
{
	char *text = text_format("%.*s", (int)length, name);

	if (term_is_clean(text))
		*ARRAY_ADD(*names, *count) = text;
	else
		free(text);
}

/* What stands in @path by the files that are known, as in a bundle; a name may come twice. */
static void add_known(const struct capture *capture, const char *path, bool directories,
		      char ***names, size_t *count)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < capture->count; i++) {
		const struct capture_file *file = capture->files[i];
		const char *name = file->path + length + 1;

		if (file->error != ENOENT && !strncmp(file->path, path, length) &&
		    file->path[length] == '/' && (!directories || strchr(name, '/')))
			add_name(names, count, name, strcspn(name, "/"));
	}
}

/* Not a link to one either, of whatever file system. */
static bool is_directory(int fd, const struct dirent *entry)
{
	struct stat status;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return !fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
		S_ISDIR(status.st_mode);
}

static void add_entries(struct capture *capture, const char *path, bool directories,
			char ***names, size_t *count)
{
	int fd = root_open(capture->root, path, O_RDONLY | O_DIRECTORY);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!directory) {
		if (errno != ENOENT && errno != ENOTDIR && !capture_find(capture, path))
			capture_add(capture, path)->error = errno;
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    (!directories || is_directory(fd, entry)))
			add_name(names, count, entry->d_name, strlen(entry->d_name));
	closedir(directory);
}

static char **names_in(struct capture *capture, const char *path, bool directories,
		       size_t *count)
{
	char **names = NULL;
	size_t all = 0;

	/* Of a directory a file that is known may have been read through a link. */
	if (!directories || capture->kind == CAPTURE_BUNDLE)
		add_known(capture, path, directories, &names, &all);
	if (capture->kind != CAPTURE_BUNDLE)
		add_entries(capture, path, directories, &names, &all);
	*count = 0;
	if (!all)
		return names;
	qsort(names, all, sizeof(*names), by_name);
	for (size_t i = 0; i < all; i++) {
		if (*count && !strcmp(names[*count - 1], names[i]))
			free(names[i]);
		else
			names[(*count)++] = names[i];
	}
	return names;
}

char **capture_names(struct capture *capture, const char *path, size_t *count)
{
	return names_in(capture, path, false, count);
}

char **capture_directories(struct capture *capture, const char *path, size_t *count)
{
	return names_in(capture, path, true, count);
}

void capture_names_free(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/*
 * Is the process root's?  Its effective user alone may be by a program that is set-UID, which
 * has the name of any link to it.  Not kept: who looks for a daemon asks for its name only.  A
 * directory need not say whose it is.
 */
static bool is_of_root(const struct capture *capture, const char *pid)
{
	char *path = text_format("/proc/%s/status", pid);
	unsigned int real = 0, effective = 0;
	const char *line;
	mode_t mode;
	size_t size;
	char *text = take(capture, path, &size, &mode);
	bool known = text || capture->kind == CAPTURE_DIRECTORY;

	line = text ? strstr(text, "\nUid:\t") : NULL;
	if (line)
		known = sscanf(line, " Uid: %u %u", &real, &effective) == 2;
	free(text);
	free(path);
	return known && !real && !effective;
}

/* The file "comm" of the process, which is not kept unless it is root's and of this name. */
static const struct capture_file *named(struct capture *capture, const char *pid,
					const char *path, const char *name)
{
	struct capture_file *file = capture_find(capture, path);
	mode_t mode;
	size_t size;
	char *text;

	if (capture->kind == CAPTURE_BUNDLE)
		return file && file->value && !strcmp(file->value, name) ? file : NULL;
	/* It may have been read before, and whoever it is of. */
	if (file)
		return file->value && !strcmp(file->value, name) && is_of_root(capture, pid) ?
			file : NULL;
	text = take(capture, path, &size, &mode);
	if (text && !strncmp(text, name, strlen(name)) && !strcmp(text + strlen(name), "\n") &&
	    is_of_root(capture, pid)) {
		file = capture_add(capture, path);
		file->mode = mode;
		capture_fill(file, text, size);
		return file;
	}
	free(text);
	return NULL;
}

const struct capture_file *capture_process(struct capture *capture, const char *name)
{
	const struct capture_file *found = NULL;
	size_t count;
	char **pids = capture_names(capture, "/proc", &count);

	for (size_t i = 0; i < count && !found; i++) {
		char *path;

		if (!text_is_number(pids[i]))
			continue;
		path = text_format("/proc/%s/comm", pids[i]);
		found = named(capture, pids[i], path, name);
		free(path);
	}
	capture_names_free(pids, count);
	return found;
}

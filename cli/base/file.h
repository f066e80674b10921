/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files, also of kernel file systems, whose size is not known before. */
#ifndef FILE_H
#define FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What is to take the place of a file when it is whole. */
struct file_new {
	const char *path;	/* where it goes */
	char *beside;		/* where it is until then; NULL: it has ended */
	int fd;
};

/*
 * All that can be read from @fd, with a NUL behind it; NULL with errno, EFBIG for
 * more than any file that a command of Isolator's reads.
 */
char *file_read_fd(int fd, size_t *size);

/* The same, and @fd, which may be the -1 of an open that failed, is closed. */
char *file_read_close(int fd, size_t *size);

/* The same of the file @path. */
char *file_read(const char *path, size_t *size);

/* The first line of a file, cut to @size; false with errno: it cannot be read. */
bool file_word(char *text, size_t size, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

/* Is it text, and has its last line an end? */
bool file_is_whole(const char *text, size_t size);

/* Writes all of @data; 0 or the errno. */
int file_write_fd(int fd, const void *data, size_t size);

/*
 * May a new file take the place of @path, which @option names: is it an ordinary one, or none?
 * 0, or -1, said why.
 */
int file_check_ordinary(const char *option, const char *path);

/*
 * Makes an empty file beside @path, which has to last, with @mode but for the umask.  What is
 * at @path is neither followed nor touched.  0, or the errno, and there is nothing to end.
 */
int file_begin(struct file_new *new, const char *path, mode_t mode);

/* It gets @data, and @path's place: 0, or the errno, and @path is as it was. */
int file_end(struct file_new *new, const void *data, size_t size);

/* It goes away, unless it has ended. */
void file_drop(struct file_new *new);

/*
 * Makes @data the content of @path: whoever reads sees the old one or the new one, whole,
 * also if this process is killed.  0 or the errno.
 */
int file_replace(const char *path, const void *data, size_t size);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was read of a machine: of the running one, of a directory that holds another
 * one's files, or of a bundle (bundle.h).  All that is read is kept, so that it can
 * be bundled, and so that each file is read once.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum capture_kind { CAPTURE_LIVE, CAPTURE_DIRECTORY, CAPTURE_BUNDLE };

struct capture_file {
	const char *path;	/* that of the machine, from its root */
	int error;		/* why it could not be read, an errno; 0: it was */
	mode_t mode;		/* permissions */
	char *text;		/* as it was read; NULL: it was not */
	size_t size;
	char *value;		/* the same without blanks and line ends around it */
};

struct capture {
	const char *root;
	enum capture_kind kind;
	char *cpus;		/* the CPUs that it was made for, NULL: not said */
	void *tree;		/* of the files, by path */
	struct capture_file **files;
	size_t count;
};

/* "/" is the running machine.  0, or -1 with nothing to free: said why. */
int capture_open(struct capture *capture, const char *root);

void capture_free(struct capture *capture);

/* The file @path, there or not; it stays where it is. */
const struct capture_file *capture_read(struct capture *capture, const char *path);

/* What is known of @path, NULL if nothing is. */
struct capture_file *capture_find(const struct capture *capture, const char *path);

/* A new file @path, of which nothing is known; for what is read elsewhere. */
struct capture_file *capture_add(struct capture *capture, const char *path);

/* @file was read: @text, which is its own from now on. */
void capture_fill(struct capture_file *file, char *text, size_t size);

/* The same for what no file of a machine has: a number that was found out otherwise. */
void capture_fill_number(struct capture_file *file, uint64_t number);

/*
 * The names in the directory @path, sorted, cpu2 before cpu10; none if it cannot be
 * read, and if that is for want of permission @path itself is among the files that
 * could not be read.  To be freed by capture_names_free().
 */
char **capture_names(struct capture *capture, const char *path, size_t *count);

/*
 * The same of the directories in it, without links to any: below them nothing comes
 * twice, and there is an end.
 */
char **capture_directories(struct capture *capture, const char *path, size_t *count);

void capture_names_free(char **names, size_t count);

/*
 * The file "comm" of root's process of this name, as anybody's process may have any name; NULL:
 * none runs, or none is known.
 */
const struct capture_file *capture_process(struct capture *capture, const char *name);

#endif

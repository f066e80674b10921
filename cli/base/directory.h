/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories that the kernel fills: of cgroups, of instances of the tracer. */
#ifndef DIRECTORY_H
#define DIRECTORY_H

/* A file that the kernel makes in one, and what it shows there; one without name ends them. */
struct directory_file {
	const char *name, *text;
};

/*
 * As mkdir(2) and rmdir(2) of @path, whose directory is below @root; 0 or the errno.  Below a
 * root that has no kernel the @files in it come and go, too; NULL: there are none.
 */
int directory_make(const char *root, const char *path, const struct directory_file *files);
int directory_remove(const char *root, const char *path, const struct directory_file *files);

#endif

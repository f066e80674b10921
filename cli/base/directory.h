/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories that the kernel fills: of cgroups, of instances of the tracer. */
#ifndef DIRECTORY_H
#define DIRECTORY_H

/* As mkdir(2) and rmdir(2) of @path, whose directory is below @root; 0 or the errno. */
int directory_make(const char *root, const char *path);
int directory_remove(const char *root, const char *path);

/* For a root that has no kernel: the file @path comes with @text, or goes: NULL. */
void directory_file(const char *root, const char *path, const char *text);

#endif

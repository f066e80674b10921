/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Machines made of files: a directory with what their sysfs and procfs would have. */
#ifndef TREE_H
#define TREE_H

/* Begin with an empty directory; returns it. */
const char *tree_new(void);
/* Remove it. */
void tree_remove(void);
/* Write @text to a file, with its directories. */
void tree_put(const char *text, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* Remove a file. */
void tree_drop(const char *path, ...) __attribute__((format(printf, 1, 2)));

/* 2 CPUs of a virtual machine, with nothing special. */
void tree_vm(void);
/* 4 performance cores with 2 threads each (0-7), 8 efficiency cores (8-15) in two
 * clusters that share a level 2 cache.
 */
void tree_laptop(void);
/* 2 sockets and nodes of 4 cores with 2 threads: 0-3 with 8-11, 4-7 with 12-15; kept
 * free are 2, 3, 6 and 7 with their siblings.
 */
void tree_server(void);
/* 4 small cores (0-3) and 2 big ones (4-5), as ARM has them. */
void tree_board(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An instance of the kernel's tracer: rings and a tracer of its own, which are nobody
 * else's, as a directory in tracefs.
 */
#ifndef INSTANCE_H
#define INSTANCE_H

#include <sys/types.h>

#define INSTANCE_TRACEFS "/sys/kernel/tracing"

/* By the number of a process: those of the trace that tells causes. */
#define INSTANCE_CAUSES "isolator-%d"
#define INSTANCE_SENDERS INSTANCE_CAUSES "-senders"

/*
 * Files of tracefs can be opened from now on by their paths below INSTANCE_TRACEFS, also where it
 * is mounted elsewhere, or nowhere: then it is attached to this process, and seen by nobody else.
 * To be called before there are threads.  0; or the errno, *@why says it, to be freed.
 */
int instance_tracefs(char **why);

/* The same, if @path of @root's is such a file; else 0. */
int instance_reach(const char *root, const char *path, char **why);

/* The path of that of the process @pid for a tracer, to be freed. */
char *instance_path(pid_t pid);

/* The paths of those for causes, each to be freed. */
char *instance_causes(pid_t pid);
char *instance_senders(pid_t pid);

/* Makes it; one that a process of this number has left is used.  0 or the errno. */
int instance_make(const char *root, const char *path);

/*
 * Opens what was traced on @cpu, as text, each read once; it waits for nothing.  Where there
 * is no kernel it is that of @root's tracer.  -1 with errno.
 */
int instance_pipe(const char *root, const char *path, int cpu);

/* Ends what it does and removes it; 0, also if it is gone, or the errno. */
int instance_remove(const char *root, const char *path);

#endif

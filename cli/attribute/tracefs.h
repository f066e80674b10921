/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracing in instances of tracefs that are this process's alone: one for the measured
 * CPUs, and one for the others, where only what is aimed at a measured one is recorded.
 * Nothing outside of them is changed; where tracefs is not mounted it is attached to this
 * process only.
 */
#ifndef TRACEFS_H
#define TRACEFS_H

#include <stdio.h>

#include "attribute/trace_events.h"
#include "base/cpulist.h"

struct tracefs {
	int root;		/* its directory; -1: none */
	int measured, senders;	/* of the instances; -1: none */
	char name[32], sender_name[40];
	char *why;		/* what it failed for; NULL: nothing */
	char *notes;		/* what cannot be told here, lines; NULL: nothing */
};

/* Whom to trace. */
struct tracefs_wanted {
	const struct cpulist *measured, *others;
	size_t bytes;		/* of ring for each measured CPU */
};

/* All descriptors -1. */
void tracefs_init(struct tracefs *fs);

/* Finds tracefs, and makes the instances, with tracing off.  0, or -1 with fs->why. */
int tracefs_open(struct tracefs *fs, const struct tracefs_wanted *wanted);

/* Opens a recording, or any directory laid out as tracefs. */
int tracefs_open_copy(struct tracefs *fs, const char *directory);

/* Reads the formats of what there is.  0, or -1 with fs->why. */
int tracefs_formats(struct tracefs *fs, struct trace_readers *readers);

/* Turns events and tracing on.  0, or -1 with fs->why. */
int tracefs_arm(struct tracefs *fs, const struct tracefs_wanted *wanted,
		const struct trace_readers *readers);

/* Other rings for the measured CPUs, which are empty then.  0, or -1 with fs->why. */
int tracefs_resize(struct tracefs *fs, const struct tracefs_wanted *wanted);

/* The CPU's ring; -1 with errno. */
int tracefs_ring(const struct tracefs *fs, bool senders, int cpu);

/* Writes @text to trace_marker of the measured instance; 0 or the errno. */
int tracefs_mark(const struct tracefs *fs, const char *text);

/* How many events a CPU's ring took until now; 0: not known. */
uint64_t tracefs_entries(const struct tracefs *fs, int cpu);

/* A file below @directory of tracefs gets @text, in one piece; 0 or the errno. */
int tracefs_write(int directory, const char *path, const char *text);

/* All of such a file, to be freed; NULL with errno. */
char *tracefs_read(int directory, const char *path);

/* Removes the instances; the rings must be closed.  Notes remain. */
void tracefs_end(struct tracefs *fs);

/* The same, and all is gone. */
void tracefs_close(struct tracefs *fs);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that is run on CPUs which are made quiet for it. */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "audit.h"
#include "change.h"
#include "cpulist.h"
#include "group.h"
#include "interrupts.h"
#include "journal.h"
#include "user.h"

enum run_policy { RUN_OTHER, RUN_FIFO, RUN_RR };

/* One setting that the CPUs want otherwise than it is. */
struct run_setting {
	const char *id;		/* of the audit's check, or of the same kind */
	char *path;
	char *wanted;
	struct change change;
};

/* What this machine does not have, and what that means. */
struct run_missing {
	const char *id;
	char *path;
	const char *why;
};

/* What may not be done here. */
struct run_lack {
	char *what;	/* a file, or a capability */
	char *why;
	char *command;	/* what the host must do instead; NULL: nothing would do */
};

struct run_end {
	int status;	/* as of wait(2) */
	int code;	/* what this command exits with */
	uint64_t ns;
	struct rusage usage;
	struct interrupts interrupts, softirqs;
};

struct run {
	/* What is asked for. */
	const char *root;
	struct cpulist cpus;	/* to be quiet */
	struct cpulist rest;	/* more for the program, or not given */
	const char *user_name;	/* NULL: not given */
	unsigned int policy;	/* enum run_policy */
	unsigned int priority;	/* 0: not given */
	bool keep_malloc;
	bool no_settings;
	bool best_effort;
	char **argv;		/* the program */

	/* What is found. */
	struct cpulist own;	/* cpus and rest */
	struct cpulist others;	/* online without cpus: where all else goes */
	bool isolator;		/* the kernel has it */
	bool partition;		/* there can be one */
	bool no_journal;	/* none can be written: nothing may be changed */
	struct user user;
	struct run_setting *settings;
	size_t nr_settings;
	struct run_missing *missing;
	size_t nr_missing;
	struct run_lack *lacks;
	size_t nr_lacks;

	/* What is done. */
	bool journalled;	/* something may have been changed */
	struct journal journal;
	struct group group;
	int latency;		/* the device that keeps idle states shallow; -1: not open */
	unsigned int threads_moved, threads_refused;
	struct capture capture;	/* as the program found it: */
	struct audit audit;
	bool audited;
	bool restored;		/* all is as it was */
};

/* run_settings.c: fills settings, missing and those lacks that are files. */
void run_plan(struct run *run, struct audit *audit);

/* Changes what is planned: 0, whatever came of each; -1, said why: no journal. */
int run_apply(struct run *run);

/* Moves threads of the kernel away: as run_apply(). */
int run_move_threads(struct run *run);

/* run_rights.c */
void run_lack(struct run *run, const char *what, const char *why, const char *command);

/* Adds to the lacks what this process may not do. */
void run_look_at_rights(struct run *run);

/* To stderr: what may not be done, and what the host must do. */
void run_tell_lacks(const struct run *run);

/* run_start.c: does the kernel have Isolator? */
bool run_start_possible(const struct run *run);

/* run_child.c */
struct run_child {
	pid_t pid;
	int go;		/* a byte lets it go, the end ends it */
	int said;	/* what it could not do */
};

/*
 * From here on signals that end a program wait; before there is anything to restore.
 * Makes the process that becomes the program, and waits to be let go.  0; -1, said why.
 */
int run_child_make(struct run_child *child, const struct run *run);

/* Has somebody asked for an end already?  The signal, or 0. */
int run_child_asked(void);

/* It need not run.  Whatever became of it, it is gone. */
void run_child_drop(struct run_child *child);

/* Lets it go; 0, or the exit code, said why: it did not become the program. */
int run_child_go(struct run_child *child, const struct run *run);

/* Passes signals on to it until it ends. */
void run_child_wait(const struct run_child *child, struct run_end *end);

/* run_report.c, run_json.c; before the program, and after it. */
void run_tell_begin(const struct run *run);
void run_tell_end(const struct run *run, const struct run_end *end);
void run_json(FILE *out, const struct run *run, const struct run_end *end);

/* Findings that remain although all was done: is this one to be told? */
bool run_remains(const struct audit_finding *finding);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that is run on CPUs which are made quiet for it. */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "audit/audit.h"
#include "base/cpulist.h"
#include "journal/change.h"
#include "journal/journal.h"
#include "machine/look.h"
#include "machine/user.h"
#include "options/options.h"
#include "proc/isolate.h"
#include "proc/proc.h"
#include "run/group.h"

/* What the options for isolation do where the kernel has no Isolator. */
#define RUN_WISH_IDLE "--batch, --deadline, --spin and --quarantine do nothing, --thread only pins"

struct json;

enum run_policy { RUN_OTHER, RUN_FIFO, RUN_RR };

/* One setting that the CPUs want otherwise than it is. */
struct run_setting {
	const char *id;		/* of the audit's check, or of the same kind */
	char *path;
	char *wanted;
	struct change change;
};

/* What this machine does not have, or lets nobody change, and what that means. */
struct run_missing {
	const char *id;
	char *path;
	const char *why;
	bool locked;		/* it is there */
};

/* What may not be done here. */
struct run_lack {
	char *what;	/* a file, or a capability */
	char *why;
	char *command;	/* what the host must do instead; NULL: nothing would do */
};

/* A thread that is to have a CPU of its own as soon as it is there. */
struct run_thread {
	char name[ISOLATE_NAME];
	int cpu;
};

struct run_end {
	int status;	/* as of wait(2) */
	int code;	/* what this command exits with */
	uint64_t ns;
	struct rusage usage;
	struct since since;
};

/* The program's own terminal, where it must not have the caller's. */
struct run_terminal {
	pid_t relay;		/* copies between the two */
	int slave;		/* until the program has it; -1: none */
	int end;		/* closed: the relay ends; -1: there is none */
	bool apart;		/* the program has a session of its own, maybe without a terminal */
	bool replaces[3];	/* which of the program's standard files it is */
	bool no_keys;		/* nothing is typed there: the first of them is empty instead */
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
	bool no_isolation;
	bool verbose;		/* the whole report is wanted on stderr */
	struct isolate_wish wish;
	const char *preload;		/* a library; NULL: not given */
	struct option_texts named;	/* as given: NAME=CPU */
	char **argv;		/* the program */
	pid_t attached;		/* a task that runs already, and has no group; 0: none */

	/* What is found. */
	struct cpulist own;	/* cpus and rest */
	struct cpulist taken;	/* of other runs */
	struct cpulist others;	/* online without those and own: where all else goes */
	bool isolator;		/* the kernel has it */
	bool isolate;		/* and it is used */
	struct run_thread *threads;	/* those of named */
	size_t nr_threads;
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

	/* Isolation. */
	int device;		/* -1: not open */
	uint64_t began_ns;	/* CLOCK_MONOTONIC; what began before is not of this run */
	uint64_t executed_ns;	/* when the process had become the program */
	bool threads_watched;	/* threads are looked for */
	struct run_terminal terminal;
	bool unisolated;	/* the program was ended, as it was not isolated */
	struct isolate **tasks;	/* those that were asked for, in the order of time */
	size_t nr_tasks;
	unsigned int tasks_dropped;	/* that ended, of a program that makes ever more */
	unsigned int refusals;	/* of threads; said of the first ones */
	int preload_fd;		/* the memory of its counts; 0: none */
	void *preload_counts;	/* NULL: it is not used */
	bool sampled;
	struct proc_sample sample;	/* after the end */
};

/* run.c: looks at the machine, and changes nothing: 0; -1, said why it cannot go on. */
int run_prepare(struct run *run);

/* Makes the CPUs quiet: 0, or -1, said why, and what was changed is to be put back. */
int run_quieten(struct run *run);

void run_free(struct run *run);

/* settings.c: fills settings, missing and those lacks that are files. */
void run_plan(struct run *run, struct audit *audit);

/* Changes what is planned: 0, whatever came of each; -1, said why: no journal. */
int run_apply(struct run *run);

/* Moves threads of the kernel away: as run_apply(). */
int run_move_threads(struct run *run);

/* rights.c */
void run_lack(struct run *run, const char *what, const char *why, const char *command);

/* Adds to the lacks what this process may not do. */
void run_look_at_rights(struct run *run);

/* To stderr: what may not be done, and what the host must do. */
void run_tell_lacks(const struct run *run);

/* start.c: is it the program as a whole that is isolated, from its first instruction on? */
bool run_start_at_exec(const struct run *run);

/* Before the process becomes the program: 0, or -1, said why: it shall not. */
int run_start_arm(struct run *run, pid_t pid);

/* After that. */
void run_start_executed(struct run *run);

/*
 * While the program runs: takes what the kernel has answered, and looks for threads.
 * It ends a program that is not isolated, as asked for.  True: again, before long.
 */
bool run_start_watch(struct run *run, pid_t pid);

/* After its end: reads what the kernel has counted. */
void run_start_end(struct run *run, pid_t pid);

/* What was counted of a CPU's last isolation in this run; NULL: it had none. */
const struct proc_cpu *run_start_cpu(const struct run *run, int cpu);

void run_start_free(struct run *run);

/*
 * Adds one that is to be isolated.  The program's own user decides how many there are: of those
 * that have ended not all are kept.
 */
struct isolate *run_start_add(struct run *run, pid_t tid, int cpu, const char *found,
			      const char *name);

/* preload.c: before the process is made: 0, or not, said why. */
int run_preload_make(struct run *run);

/* In that, before it is its user: 0 or the errno. */
int run_preload_enter(const struct run *run);

/* Where the library looks how many threads have been isolated; NULL: it is not used. */
uint64_t *run_preload_starts(const struct run *run);

/* The ticks that the library has made; false: it was not loaded. */
bool run_preload_ticks(const struct run *run, uint64_t *ticks);

void run_preload_free(struct run *run);

/*
 * terminal.c: before the process is made, if the program is another user's and the
 * terminal is not: 0; -1, said why.
 */
int run_terminal_make(struct run *run);

/* In that, before it is its user: 0 or the errno. */
int run_terminal_enter(const struct run_terminal *terminal);

/* The process has it. */
void run_terminal_made(struct run_terminal *terminal);

/* After its end: all is shown that was printed, and the caller's terminal is as it was. */
void run_terminal_end(struct run_terminal *terminal);

/* One more was refused: is that to be said?  Of so many it is not. */
bool run_start_tell(struct run *run);

/* threads.c: takes named apart; -1, said why. */
int run_threads_parse(struct run *run);

/* Isolates those that are there by now. */
void run_threads_look(struct run *run, pid_t pid);

/* As env(1) and timeout(1) have them: what may be the program's own is none of run's. */
#define EXIT_OWN 125
#define EXIT_NOT_RUN 126
#define EXIT_NOT_FOUND 127

/* program.c: 0, or how run ends since there is no such program, said why. */
int run_look_for_program(const struct run *run);

/* The same of one that could not be started, by its errno. */
int run_cannot_run(const char *name, int error);

/* child.c */
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

/* Passes signals on to it until it ends, and watches its start and its threads. */
void run_child_wait(const struct run_child *child, struct run *run, struct run_end *end);

/* report.c, json.c; before the program, to stderr, and after it, @full or in a few lines. */
void run_tell_begin(const struct run *run);
void run_tell_end(FILE *out, const struct run *run, const struct run_end *end, bool full);
void run_json(FILE *out, const struct run *run, const struct run_end *end);

/* isolation.c: what is said of isolation before the program, and after it. */
void run_isolation_begin(FILE *out, const struct run *run);
void run_isolation_end(FILE *out, const struct run *run);

/* After it, a line a CPU, and what has interrupted it. */
/* Whole words with "; " at the end, of all CPUs together; nothing where nothing is isolated. */
void run_isolation_brief(FILE *out, const struct run *run);
void run_isolation_json(struct json *json, const struct run *run);

/* The same of one CPU. */
void run_isolation_cpu(FILE *out, const struct run *run, int number);
void run_isolation_json_cpu(struct json *json, const struct run *run, int number);

/* Findings that remain although all was done: is this one to be told? */
bool run_remains(const struct audit_finding *finding);

#endif

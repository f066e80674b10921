/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a machine fit to isolate CPUs?  A table of checks, each of which reads what it
 * needs of a capture and adds its findings.
 */
#ifndef AUDIT_H
#define AUDIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cpulist.h"
#include "journal/change.h"
#include "machine/capture.h"

enum audit_severity {
	AUDIT_INFO,		/* worth knowing */
	AUDIT_WARNING,		/* it disturbs a CPU now and then, or some of its programs */
	AUDIT_ERROR,		/* no CPU can be isolated so, or it is always disturbed */
};

/* As they are given on the command line and in JSON. */
extern const char *const audit_severities[];

enum audit_remedy {
	REMEDY_NONE,		/* words only */
	REMEDY_WRITE,		/* the finding's file gets another value: --fix does it */
	REMEDY_COMMAND,		/* a command that goes beyond writing to a file */
	REMEDY_BOOT,		/* a boot parameter */
};

struct audit;
struct boot;

/* One question to the machine; all its findings have its name and reason. */
struct audit_check {
	const char *id;
	enum audit_severity severity;
	/*
	 * Isolator keeps this away from a CPU while it is isolated, so where the kernel
	 * has it, it is but worth knowing.
	 */
	bool covered;
	const char *why;
	void (*run)(struct audit *audit);
};

struct audit_group {
	const char *title;
	const struct audit_check *checks;	/* one without id ends them */
};

extern const struct audit_group audit_machine, audit_boot, audit_timer, audit_power,
	audit_irq, audit_sched, audit_memory, audit_trace;

struct audit_finding {
	const struct audit_group *group;
	const struct audit_check *check;
	enum audit_severity severity;
	char *path;
	char *value;		/* what was read there */
	enum audit_remedy remedy;
	char *fix;		/* a command, boot parameters, or advice */
	char *undo;
	enum setting_kind kind;
	char *wanted;		/* what REMEDY_WRITE writes to path */
	char *parameter;	/* of a boot, which is to be added, NAME=VALUE; else NULL */
	enum change_outcome outcome;
	char *now;		/* what was read back, or why it was refused; else NULL */
};

struct audit {
	struct capture *capture;
	struct cpulist online;
	struct cpulist cpus;	/* those to be isolated */
	struct cpulist rest;	/* where all else may go: online without them, and without
				 * those that are other runs' */
	const char *chosen;	/* why these: a word of the schema */
	bool isolator;		/* the kernel has it */
	const struct audit_group *group;	/* of the check that runs */
	const struct audit_check *check;
	unsigned int read, unread;		/* by it: what was read or found, what was not */
	unsigned int judged, absent, unreadable;	/* checks */
	struct audit_finding *findings;
	size_t count;
};

/*
 * Fills @audit from @capture with all findings, for @cpus, or those that the machine
 * is set up for if they are not given.  Nothing is to be moved to @taken; NULL: there are no
 * such CPUs.  0; -1, said why: these CPUs are not there; 1, said why: it does not even say
 * which CPUs there are.
 */
int audit_run(struct audit *audit, struct capture *capture, const struct cpulist *cpus,
	      const struct cpulist *taken);

void audit_free(struct audit *audit);

/* For checks.  The paths are those of the machine, from its root. */

/* The file; NULL: it is not there, or could not be read, which becomes a finding. */
const struct capture_file *audit_file(struct audit *audit, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for a file that holds a number, a list or a mask of CPUs, and nothing else. */
const struct capture_file *audit_number(struct audit *audit, int64_t *number,
					const char *format, ...)
	__attribute__((format(printf, 3, 4)));
const struct capture_file *audit_list(struct audit *audit, struct cpulist *list,
				      const char *format, ...)
	__attribute__((format(printf, 3, 4)));
const struct capture_file *audit_mask(struct audit *audit, struct cpulist *list,
				      const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The names in a directory; a directory that may not be read becomes a finding. */
char **audit_names(struct audit *audit, size_t *count, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same of the directories in it, as capture_directories(). */
char **audit_directories(struct audit *audit, size_t *count, const char *path);

/* @path could not be read, and why; once for each path. */
void audit_unread(struct audit *audit, const char *path, const char *why);

/* The same for an errno. */
void audit_denied(struct audit *audit, const char *path, int error);

/* Is it one of these?  They come last. */
bool audit_is_unread(const struct audit_finding *finding);

/* A new finding of the check that runs; it is good until the next one. */
struct audit_finding *audit_find(struct audit *audit, const char *path, const char *value);

/* What mends it: the file gets this value; the undo is its old one. */
void audit_set(struct audit_finding *finding, enum setting_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A finding if the file holds a number other than 0, which mends it. */
void audit_zero(struct audit *audit, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What mends it otherwise, and what undoes that. */
void audit_advise(struct audit_finding *finding, enum audit_remedy remedy, const char *fix,
		  const char *undo);

/* A boot parameter mends it. */
void audit_boot_with(struct audit_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The CPUs of @mask without those to be isolated, or all others if none is left:
 * what a setting shall name instead.  To be freed; NULL: there is no other CPU.
 */
char *audit_others(const struct audit *audit, const struct cpulist *mask,
		   enum setting_kind kind);

/*
 * A finding if @file, which may be NULL, holds a list or mask @named that has CPUs to
 * be isolated in it; what mends it is to leave them out.
 */
struct audit_finding *audit_spare(struct audit *audit, const struct capture_file *file,
				  const struct cpulist *named, enum setting_kind kind,
				  bool may_be_empty);

/* Is "@name=@value" a boot parameter, @value maybe one of several between commas? */
bool audit_booted(struct audit *audit, const char *name, const char *value);

/* Has the first processor this flag?  No, where /proc/cpuinfo knows no flags. */
bool audit_flag(struct audit *audit, const char *flag);

/*
 * The value of CONFIG_@name: y, m, a number or a text; NULL: not set, or no config.  It is
 * good until the next call.
 */
const char *audit_config(struct audit *audit, const char *name);

/* Where the kernel's configuration stands; NULL: nowhere, said so in a finding. */
const struct capture_file *audit_config_file(struct audit *audit);

/* Is the kernel's version at least this one? */
bool audit_kernel(struct audit *audit, int major, int minor);

/* Applies what can be applied, of @least severity or more: 0, or -1, said why. */
int audit_fix(struct audit *audit, enum audit_severity least);

/* How many findings of @least severity or more there are that are not mended. */
size_t audit_open(const struct audit *audit, enum audit_severity least);

struct audit_view {
	const struct audit *audit;
	enum audit_severity least;	/* what decides */
	bool fixing;
	bool colours;
	const struct boot *boot;	/* what the next boot gets, or could get */
};

/* The first line of what was read, as far as it is of a size to be looked at. */
void audit_put_value(FILE *out, const char *value);

void audit_text(FILE *out, const struct audit_view *view);
void audit_json(FILE *out, const struct audit_view *view);

#endif

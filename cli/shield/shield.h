/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that are shielded from processes, interrupts and local timers, each by a mask.  What
 * may run on shielded CPUs and on others, too, keeps the others alone; what names shielded
 * CPUs alone runs there.  A stock kernel does not know the rule: it is applied to what is
 * there, whenever the masks are set.
 */
#ifndef SHIELD_H
#define SHIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "journal/journal.h"
#include "journal/undo.h"
#include "shield/notes.h"

/* As they are named on the command line and in JSON. */
extern const char *const shield_names[SHIELD_KINDS];

/* Why it was not changed, or what it became instead. */
struct shield_refusal {
	char *path;
	char *wanted;
	char *why;
};

/* What a command has done. */
struct shield_done {
	unsigned int tasks, files;	/* that were changed */
	struct shield_refusal *refused;
	size_t nr_refused;
	bool more_refused;	/* than these */
};

struct shield_task {
	char *tid;
	char *name;	/* as it calls itself, may have control characters */
	bool kernel;
	char *cpus;
};

/* An interrupt, or another file. */
struct shield_file {
	char *path;
	char *what;	/* the device's name for it; may be empty */
	char *cpus;
	bool fixed;	/* nobody may choose: its driver does, or it is bound to a CPU */
};

/* What of the machine is against the rule, and what is left. */
struct shield_look {
	struct cpulist online;
	struct shield_masks masks;
	unsigned int inside;	/* tasks that name shielded CPUs alone */
	unsigned int bound;	/* threads of the kernel that nobody may move, and are there */
	struct shield_task *tasks;	/* may run there and elsewhere */
	size_t nr_tasks;
	struct shield_file *files;	/* may come there and go elsewhere */
	size_t nr_files;
	struct cpulist tickless;	/* their tick stops while one task runs (nohz_full) */
	bool never_tickless;	/* the kernel was built without CONFIG_NO_HZ_FULL */
	bool isolator;	/* the kernel has it */
	char *balancer;	/* a process that moves interrupts; NULL: none runs */
};

/*
 * What of @was is left outside the shield @mask: all of it if no other CPU that is @online
 * is named, unless @may_be_empty.
 */
void shield_spare(const struct cpulist *was, const struct cpulist *mask,
		  const struct cpulist *online, bool may_be_empty, struct cpulist *left);

/* A file of the kernel's that the rule is for. */
struct shield_place {
	const char *path;
	const char *text;	/* what it shows */
	enum setting_kind kind;
	enum shield_kind shield;
	bool may_be_empty;
	const char *rest;	/* what it is to hold with any mask; NULL: it holds CPUs */
	const char *what;	/* the device's name for an interrupt; may be empty */
	bool fixed;		/* as above; then @text is where it goes */
};

/* The CPUs that @text names, as the file would; false: none. */
bool shield_place_cpus(const struct shield_place *place, const char *text, struct cpulist *cpus);

/* Holds @text what the file is to hold with any mask, or more of an interval? */
bool shield_place_rests(const struct shield_place *place, const char *text);

/*
 * files.c: calls @each for each of them, until that returns an error, which is then
 * returned; else 0, or -1, said why.
 */
int shield_files(const char *root, int (*each)(void *data, const struct shield_place *place),
		 void *data);

/*
 * set.c: makes @masks those in force, each change noted: 0, whatever became of each;
 * -1, said why: the journal cannot be written.
 */
int shield_apply(struct journal *journal, const struct shield_notes *notes,
		 const struct shield_masks *masks, const struct cpulist *online,
		 struct shield_done *done);

void shield_done_free(struct shield_done *done);

/* look.c: masks and online are filled; 0, or -1, said why. */
int shield_look(struct shield_look *look, const char *root);

void shield_look_free(struct shield_look *look);

/* How many there are that could go elsewhere. */
size_t shield_look_wrong(const struct shield_look *look);

/* print.c; @done and @undo may be NULL. */
void shield_text(FILE *out, const struct shield_look *look, const struct shield_done *done,
		 const struct undo *undo);
void shield_json(FILE *out, const struct shield_look *look, const struct shield_done *done,
		 const struct undo *undo);

#endif

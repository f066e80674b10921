/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command changes of a machine, noted in a file in ROOT/run/isolator, or where a boot
 * leaves it, in ROOT/var/lib/isolator (store.h):
 * written and on its way to the disk before each change, so that whatever ends the
 * program, all can be put back (undo.h).
 *
 * The file is text.  Its first line is "isolator-journal 1", and then each line is
 * one change in the order of time, four fields with a tabulator between:
 *	change PATH KIND SET TEXT
 *	set PATH VALUE TEXT
 *	allowed PATH CPUS -
 *	instance PATH - -
 *	task TID START LIST
 *	run PID CPUS PROGRAM
 * change: PATH, that of the machine from its root, showed TEXT and was given SET, a setting of
 * the KIND that change.c names; the blank is within the field.  It is put back only as long as
 * nobody has set it otherwise, and of a list of CPUs to which others add, what was added is
 * taken out.  set: the same as earlier versions noted it, VALUE is what to write, without the
 * line's end.  allowed: no change of this command's, but CPUS that an administrator allows
 * from then on in PATH, which a line before names: they stay there.  instance: the instance PATH of
 * the tracer was made.  task: the affinity of a task, which began at START by the kernel's
 * clock, was LIST.  run: no change, but whose journal it is.  Other lines are of kinds
 * (undo_line.h) that rooms have for themselves: run/undo.h, shield/undo.h and audit/boot.h
 * describe theirs.
 * In each field bytes other than printable ASCII, and the
 * backslash, are \ooo.  A line without its end was cut off by a crash before its change
 * was made.
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/cpulist.h"

#define JOURNAL_CHANGE "change"
#define JOURNAL_ALLOWED "allowed"
#define JOURNAL_SET "set"
#define JOURNAL_INSTANCE "instance"
#define JOURNAL_TASK "task"
#define JOURNAL_RUN "run"

struct task;

/* Who runs a program, for which CPUs. */
struct journal_owner {
	pid_t pid;
	const struct cpulist *cpus;
	const struct cpulist *others;	/* what leaves those goes here; NULL: nothing does */
	const char *program;
};

struct journal {
	const char *root;
	const char *place;	/* the directory that it is in */
	char *name;
	int directory;	/* locked: nobody else changes settings; -1: no longer */
	int fd;		/* locked until the command ends */
	off_t last;	/* where the last line begins */
	bool shared;	/* other runs live, and rely on what they have set */
};

/*
 * Opens a journal and locks others out: that of audit --fix if @owner is NULL, which is
 * refused as long as there is any of a run; else a new one, which is refused if a run
 * that lives has one of the CPUs, or one of those to which this run would send what it
 * moves away.  What runs that live have set is noted in the new
 * one too: whoever ends last puts it back.  0, or -1, said why.
 */
int journal_open(struct journal *journal, const char *root, const struct journal_owner *owner);

/*
 * The same for that of the shield, which goes on if there is one.  It is refused as long
 * as there is any of a run: that notes what the shield has set, and puts it back.
 */
int journal_open_shield(struct journal *journal, const char *root);

/* The same for that of the next boot, beside which any other may be. */
int journal_open_boot(struct journal *journal, const char *root);

/* To be called before a change: 0, or -1, said why, and nothing may change. */
int journal_note(struct journal *journal, const char *what, const char *name, const char *value,
		 const char *text);

/* The same for a task's affinity as it is. */
int journal_note_task(struct journal *journal, const struct task *task);

/*
 * The task that the journal @text says was attached, its tid to be freed, if it lives;
 * else NULL.
 */
char *journal_attached(const char *root, const char *text);

/* Does any journal below @root say so of this task? */
bool journal_is_attached(const char *root, const char *tid);

/* The CPUs of all runs that live; none where the journals cannot be read. */
struct cpulist journal_taken(const char *root);

/*
 * Names the run that ended without undoing its changes, as one that is killed does, and says
 * what undoes them: a line.  Nothing: there is none, or this user may not see it.
 */
void journal_put_killed(FILE *out, const char *root);

/*
 * The journal, whose directory is still locked, becomes @text: 0; or -1, said why, and it is as
 * it was.
 */
int journal_rewrite(struct journal *journal, const char *text, size_t size);

/* The change that was noted last was not made. */
void journal_forget(struct journal *journal);

/* All changes are made: others may make theirs. */
void journal_settle(struct journal *journal);

/* The command has ended; a journal that notes nothing goes away. */
void journal_close(struct journal *journal);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Boot parameters that findings want, and where the boot loader takes them from: GRUB on
 * Debian from a file of its own below /etc/default/grub.d, which update-grub puts into
 * force; the firmware of a Raspberry Pi from cmdline.txt.  What is changed is noted before
 * (boot_notes.h) and undone by isolator restore.  Other boot loaders are only named, with
 * the place where it is to be done.
 */
#ifndef BOOT_H
#define BOOT_H

#include <stdbool.h>
#include <stdio.h>

#include "audit/audit.h"
#include "journal/undo.h"

struct json;

enum boot_state {
	BOOT_SHOWN,	/* nothing was tried */
	BOOT_STANDS,	/* all of it was there already */
	BOOT_WRITTEN,	/* written and read back: in force from the next boot on */
	BOOT_REFUSED,	/* nothing is changed, why says why */
};

struct boot {
	const char *loader;	/* a word of the schema; NULL: none is known here */
	const char *path;	/* the file; NULL: this command changes none */
	char **parameters;	/* what findings want, NAME=VALUE; empty: nothing is to be done */
	size_t count;
	char *before, *after;	/* the file's text; before is NULL: it is not there */
	uint64_t elsewhere;	/* of the parameters, by place: another file has them so */
	bool grub;		/* update-grub has to follow */
	enum boot_state state;
	char *why;		/* what is in the way, or what is to be done by hand; else NULL */
};

/* What the findings of @least severity or more want; reads what the capture lacks. */
void boot_plan(struct boot *boot, struct audit *audit, enum audit_severity least);

void boot_free(struct boot *boot);

/*
 * Writes, reads back, and runs @update, update-grub or what stands for it in a test; NULL
 * is update-grub, which is only run on the running machine.  The outcome of each finding
 * says it.  0; -1, said why: the notes cannot be written, and nothing was changed.
 */
int boot_apply(struct boot *boot, struct audit *audit, enum audit_severity least,
	       const char *update);

/* Undoes all that is noted, and adds it to @undo: 0; -1, said why: it was not looked at. */
int boot_undo(struct undo *undo, const char *root, const char *update);

/* Runs it; NULL, or why it failed, to be freed.  Where it would not be run: NULL. */
char *boot_update(const char *root, const char *update);

/* Is there something to run, where it would be run? */
bool boot_can_update(const char *root, const char *update);

void boot_text(FILE *out, const struct boot *boot);
void boot_json(struct json *json, const struct boot *boot);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Boot parameters that findings want.  GRUB takes them from a file of this command's own below
 * /etc/default/grub.d, once update-grub was run; isolator restore undoes that as any other
 * change.  Other boot loaders are only named, with the place where it is to be done.
 */
#ifndef BOOT_H
#define BOOT_H

#include <stdbool.h>
#include <stdio.h>

#include "audit/audit.h"
#include "journal/undo_line.h"

#define BOOT_FILE "/etc/default/grub.d/isolator.cfg"

struct json;

enum boot_state {
	BOOT_SHOWN,	/* nothing was tried */
	BOOT_STANDS,	/* all of it was there already */
	BOOT_WRITTEN,	/* written and read back: in force from the next boot on */
	BOOT_REFUSED,	/* nothing is changed, or all is put back; why says why, and what is not */
};

struct boot {
	const char *loader;	/* a word of the schema; NULL: none is known here */
	const char *path;	/* BOOT_FILE; NULL: this command changes none */
	char **parameters;	/* what findings want, NAME=VALUE; empty: nothing is to be done */
	size_t count;
	char *before, *after;	/* the file's text; before is NULL: it is not there */
	uint64_t elsewhere;	/* of the parameters, by place: another file has them so */
	enum boot_state state;
	char *why;		/* what is in the way, or what is to be done by hand; else NULL */
};

/*
 * What is run as update-grub in a test; NULL: update-grub, which is only run on the running
 * machine.
 */
extern const char *boot_updater;

/* What the findings of @least severity or more want; reads what the capture lacks. */
void boot_plan(struct boot *boot, struct audit *audit, enum audit_severity least);

void boot_free(struct boot *boot);

/*
 * Writes, reads back, and runs update-grub.  The outcome of each finding says it.
 * 0; -1, said why: there is no journal for it, and nothing was changed.
 */
int boot_apply(struct boot *boot, struct audit *audit, enum audit_severity least);

/*
 * A line "grub PATH NEW OLD" of the journal: the file PATH, which had OLD, or - if it was not
 * there, was given NEW, and update-grub was run.  It is undone, and update-grub runs again: a
 * kind's function (journal/undo_line.h).
 */
#define BOOT_GRUB "grub"
bool boot_undo(struct undo_context *context, char **fields);

void boot_text(FILE *out, const struct boot *boot);
void boot_json(struct json *json, const struct boot *boot);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The directories below ROOT where journals (journal.h) are.  In STORE_PATH, which is gone with
 * the boot as the changes are: "journal" is that of audit --fix, "shield" that of the shield,
 * "run.N" that of a run, N grows.  In STORE_LASTING, for what outlasts a boot: "boot" is that of
 * audit --fix --boot.  A directory is locked while settings change; a journal is locked while the
 * command that writes it lives.
 */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/root.h"

#define STORE_PATH ROOT_OWN
#define STORE_FIX "journal"
#define STORE_SHIELD "shield"
#define STORE_RUN "run."

#define STORE_LASTING "/var/lib/isolator"
#define STORE_BOOT "boot"

struct store_entry {
	char *name;
	unsigned int order;	/* of a run; 0: it is none of a run */
};

/* Says what is wrong with the journal @name in @place.  Returns -1. */
int store_fail(const char *root, const char *place, const char *name, const char *why);

/* Why it, or a journal in it, could not be locked, by errno; with what helps. */
const char *store_lock_error(int error);

/* Says that it cannot be opened, to @change something or to read it, and what helps.  -1. */
int store_refuse(const char *root, const char *place, const char *name, int error, bool change);

/* Is STORE_PATH there, for this user to read? */
bool store_readable(const char *root);

/*
 * Opens and locks the directory @place, which is made if @make; @wait: until nobody else has
 * it.  A descriptor; -1, said why; -2: there is none.
 */
int store_lock(const char *root, const char *place, bool make, bool wait);

/*
 * The journals in it, the newest first: a shield begins after audit --fix and before any
 * run, as the others are refused (journal.h).  What a command that was killed has left there
 * goes.  To be freed by store_free().
 */
struct store_entry *store_list(int directory, size_t *count);
void store_free(struct store_entry *entries, size_t count);

/* Opens the journal @name as it is, and looks whether its command lives; -1 with errno. */
int store_open(int directory, const char *name, bool *alive);

/*
 * The journal @name in the directory, which is locked, becomes @text: 0, and it is open to be
 * written to, and locked, as *@fd; or the errno, and it is as it was.
 */
int store_replace(int directory, const char *name, const char *text, size_t size, int *fd);

/* Unlocks it; the directory goes away if nothing is in it. */
void store_close(const char *root, const char *place, int directory);

#endif

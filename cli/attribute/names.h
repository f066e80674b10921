/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that live as long as the attribution: of kernel functions, of what the kernel gives
 * an address for, and of tasks.  Bounded: a night of ever new names takes no more memory.
 */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>
#include <stdint.h>

#define NAMES_MOST 4096
#define NAMES_TASKS 1024
#define NAMES_COMM 16	/* of a task's name, with its end */
#define NAMES_OTHERS "(others)"	/* for names that no longer fit */

struct names_symbol {
	uint64_t address;
	uint32_t at;		/* in text */
};

struct names {
	char *text;		/* of the symbols */
	struct names_symbol *symbols;
	size_t nr_symbols;
	struct names_symbol *reasons;	/* strings of the kernel's, by address */
	char *reason_text;
	size_t nr_reasons;
	char *pool[NAMES_MOST];	/* a hash table */
	size_t pooled;
	/* The last tasks seen; two slots a pid could have. */
	struct { int pid; char comm[NAMES_COMM]; } tasks[NAMES_TASKS];
	int tracefs;		/* its directory, for what the kernel remembers of tasks; -1 */
};

/*
 * @kallsyms: as /proc/kallsyms; @formats: as tracefs's printk_formats; both are taken,
 * and either may be NULL.
 */
void names_open(struct names *names, char *kallsyms, char *formats, int tracefs);
void names_close(struct names *names);

/* One copy of @text for good. */
const char *names_keep(struct names *names, const char *text);

/* The function @address lies in; NULL: not known. */
const char *names_function(const struct names *names, uint64_t address);

/* The kernel's string at @address; NULL: not known. */
const char *names_reason(const struct names *names, uint64_t address);

/* The task @pid was seen with this name. */
void names_task_seen(struct names *names, int pid, const char *comm);

/* Its name: as seen, else as the kernel remembers, else as it is now; NULL: not known. */
const char *names_task(struct names *names, int pid);

#endif

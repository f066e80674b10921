/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was asked of the machine and of the threads, and what was read back. */
#ifndef ASKED_H
#define ASKED_H

#include <stdbool.h>
#include <stddef.h>

struct asked {
	const char *name;	/* policy, priority, affinity, memory, ... */
	char *asked;		/* NULL: nothing */
	char *got;		/* NULL: it cannot be read */
	char *note;		/* why not, or what is lost without; NULL: nothing to say */
	bool held;		/* got is what was asked */
	bool insisted;		/* by an option: a result without it is none */
};

struct asked_list {
	struct asked *list;
	size_t count;
};

/*
 * Says what was asked for @name and what was got; the texts are copied, @note is a
 * format and may be NULL.  A name that is there is replaced.
 */
void asked_add(struct asked_list *list, const char *name, const char *asked, const char *got,
	       bool held, bool insisted, const char *note, ...)
	__attribute__((format(printf, 7, 8)));

/* The first that was insisted on and does not hold; NULL: there is none. */
const struct asked *asked_broken(const struct asked_list *list);

void asked_free(struct asked_list *list);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an interrupt goes, where it should go, and what helps if it hits guarded CPUs. */
#ifndef ROUTE_H
#define ROUTE_H

#include <stdbool.h>

#include "audit/audit.h"
#include "audit/irq.h"
#include "watch/span.h"

enum route_choice {
	ROUTE_ANYBODY,	/* whoever may write its affinity */
	ROUTE_DRIVER,	/* managed: only its driver */
	ROUTE_NOBODY,	/* one for each CPU */
	ROUTE_UNSAID,	/* an older kernel does not tell it from anybody's */
};

/* As they are shown, and in JSON. */
extern const char *const route_choices[];

/* The thread that an interrupt's handler runs in, on a kernel that makes threads of them. */
struct route_thread {
	char *number;	/* of the interrupt */
	char *tid;
	char *name;
	char *cpus;	/* that it may run on; NULL: not known */
	bool guarded;	/* some of these are */
};

struct route {
	bool device;		/* else it has no route: one for each CPU, or a softirq */
	char *unread;		/* why the route is not known; NULL: it is, or there is none */
	char *asked, *goes;	/* lists of CPUs; NULL: not known */
	char *should;		/* where it should be sent; NULL: it may stay, or cannot go */
	enum route_choice choice;
	enum irq_reach reach;
	struct route_thread thread;	/* its number is NULL: it has none */
	/* What helps; all NULL: nothing is to be done. */
	char *why, *fix, *undo;
	enum audit_remedy remedy;
};

/* What is read of a machine for the routes of one span. */
struct router {
	struct audit audit;	/* its CPUs are the guarded ones */
	const struct guard *guard;
	char *guarded;		/* as a list */
	struct route_thread *threads;
	size_t nr_threads;
	bool threaded;		/* this kernel makes threads of all handlers */
};

/*
 * For the CPUs of @guard; @capture is what was read at the later look.  Those of @seen are
 * online if the machine does not say.
 */
void router_open(struct router *router, struct capture *capture, const struct guard *guard,
		 const struct cpulist *seen);

void router_close(struct router *router);

/* Looks where @row of @which goes, and finds what helps. */
void router_look(struct router *router, enum look_list which, struct span_row *row);

/* NULL is allowed. */
void route_free(struct route *route);

/* advice.c: what helps against a row that is no device's, to @route. */
void advise(const struct router *router, enum look_list which, const struct interrupt *row,
	    struct route *route);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pages of one CPU's trace ring that were read, the newest ones, and what the CPU was
 * about before each.  The kernel's ring is read when there is something to look for, and
 * not before: where nothing is, it overwrites itself and costs no reader.
 */
#ifndef TRACE_STORE_H
#define TRACE_STORE_H

#include "attribute/context.h"

struct trace_stored {
	unsigned char *bytes;
	size_t size;
	uint64_t complete_ns;	/* from here on to the first event nothing is missing */
	uint64_t last_ns;	/* of the last event */
	uint64_t missed;	/* events before it that were overwritten; TRACE_MISSED_SOME */
	struct context before;
};

struct trace_store {
	int cpu;
	int file;		/* -1: none */
	bool follows;		/* it keeps contexts; else it is for senders only */
	struct trace_stored *pages;	/* a ring of them */
	unsigned char *bytes;
	size_t page_size, capacity, first, count;
	uint64_t read_ns;	/* all before was read; UINT64_MAX: a recording */
	uint64_t last_ns;
	struct context now;
	bool torn;		/* the last page could not be read to its end */
	uint64_t told_ns;	/* gaps before were counted */
};

/*
 * Of the CPU's trace_pipe_raw, open as @file, which is the store's from then on; nothing
 * was traced before @begun_ns.
 */
void trace_store_open(struct trace_store *store, int cpu, int file, bool follows,
		      const struct trace_layout *layout, size_t capacity, uint64_t begun_ns);
void trace_store_close(struct trace_store *store);

/* Reads what there is, which takes what there is at @now_ns, CLOCK_MONOTONIC. */
void trace_store_read(struct trace_store *store, const struct trace_readers *readers,
		      struct names *names, uint64_t now_ns);

/* A walk over the events from some time on; the store must not be read meanwhile. */
struct trace_walk {
	const struct trace_store *store;
	const struct trace_readers *readers;
	uint64_t types;		/* of events; may be set after trace_walk_begin() */
	size_t next;		/* page */
	struct trace_page page;
	uint64_t ns;		/* of the event that came last */
	struct context context;	/* before the next event: context_next() is the caller's */
	/* Before this event others are missing, or after the last one. */
	bool gap;
	uint64_t gap_ns;	/* since then */
	uint64_t missed;	/* how many; TRACE_MISSED_SOME */
	bool told;		/* an event after it was */
};

/*
 * From the last event before @from_ns on, or earlier, with what was before it.  Where the
 * store does not go back so far there is a gap from @from_ns on.
 */
void trace_walk_begin(struct trace_walk *walk, const struct trace_store *store,
		      const struct trace_readers *readers, uint64_t from_ns);

/* False: there is none.  After a gap walk->context is forgotten. */
bool trace_walk_next(struct trace_walk *walk, struct trace_event *event);

#endif

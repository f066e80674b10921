// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attribute/trace_store.h"
#include "base/error.h"

void trace_store_open(struct trace_store *store, int cpu, int file, bool follows,
		      const struct trace_layout *layout, size_t capacity, uint64_t begun_ns)
{
	memset(store, 0, sizeof(*store));
	store->cpu = cpu;
	store->file = file;
	store->follows = follows;
	store->capacity = capacity;
	store->page_size = layout->data_offset + layout->data_size;
	store->last_ns = begun_ns;
	context_forget(&store->now);
	store->pages = calloc(capacity, sizeof(*store->pages));
	store->bytes = calloc(capacity, store->page_size);
	if (!store->pages || !store->bytes)
		exit(error_say("no memory for %zu KiB of trace; measure fewer CPUs",
			       capacity * store->page_size / 1024));
	for (size_t i = 0; i < capacity; i++)
		store->pages[i].bytes = store->bytes + i * store->page_size;
}

void trace_store_close(struct trace_store *store)
{
	if (store->file >= 0)
		close(store->file);
	store->file = -1;
	free(store->pages);
	free(store->bytes);
	store->pages = NULL;
	store->bytes = NULL;
	store->count = 0;
}

static struct trace_stored *page_at(const struct trace_store *store, size_t n)
{
	return &store->pages[(store->first + n) % store->capacity];
}

/* Follows what is in the page that was read last. */
static void follow(struct trace_store *store, struct trace_stored *stored,
		   const struct trace_readers *readers, struct names *names)
{
	struct trace_record record;
	struct trace_event event;
	struct trace_page page;
	bool first = true;

	stored->complete_ns = store->last_ns;
	stored->missed = 0;
	if (!trace_page_open(&page, stored->bytes, stored->size, &readers->layout)) {
		store->torn = true;
		page.broken = true;
	}
	if (page.missed || store->torn) {
		context_forget(&store->now);
		stored->complete_ns = UINT64_MAX;
		stored->missed = page.missed ? page.missed : TRACE_MISSED_SOME;
	}
	stored->before = store->now;
	while (trace_page_next(&page, &record)) {
		if (first && stored->missed)
			stored->complete_ns = record.ns;
		first = false;
		/* A clock that steps back would make spans of nonsense. */
		if (record.ns > store->last_ns)
			store->last_ns = record.ns;
		if (store->follows && trace_event_read(readers, TRACE_EACH, &record, &event))
			context_next(&store->now, &event, names);
	}
	stored->last_ns = store->last_ns;
	store->torn = page.broken || (first && stored->missed);
}

void trace_store_read(struct trace_store *store, const struct trace_readers *readers,
		      struct names *names, uint64_t now_ns)
{
	/* As much as there can be at once; what comes faster than it is read is for later. */
	for (size_t i = 0; store->file >= 0 && i < 2 * store->capacity; i++) {
		bool full = store->count == store->capacity;
		struct trace_stored *stored = page_at(store, full ? 0 : store->count);
		ssize_t n = read(store->file, stored->bytes, store->page_size);

		if (n <= 0)
			break;
		stored->size = (size_t)n;
		if (full)
			store->first = (store->first + 1) % store->capacity;
		else
			store->count++;
		follow(store, stored, readers, names);
	}
	store->read_ns = now_ns;
}

static void open_gap(struct trace_walk *walk, uint64_t since_ns, uint64_t missed)
{
	/* Two in a row are one. */
	if (!walk->gap)
		walk->gap_ns = since_ns;
	walk->gap = true;
	walk->missed = missed ? missed : TRACE_MISSED_SOME;
}

/* A page of nothing is passed over: the next one says what is missing. */
static void open_page(struct trace_walk *walk, const struct trace_stored *stored)
{
	if (!trace_page_open(&walk->page, stored->bytes, stored->size, &walk->readers->layout))
		walk->page.at = walk->page.end = NULL;
	walk->context = stored->before;
}

void trace_walk_begin(struct trace_walk *walk, const struct trace_store *store,
		      const struct trace_readers *readers, uint64_t from_ns)
{
	size_t low = 0, high = store->count;
	const struct trace_stored *stored;

	memset(walk, 0, sizeof(*walk));
	walk->types = TRACE_EACH;
	walk->store = store;
	walk->readers = readers;
	/* The first page whose last event is not before; else the last page. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (page_at(store, middle)->last_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == store->count && low)
		low--;
	walk->next = low + 1;
	if (!store->count) {
		walk->context = store->now;
		if (from_ns < store->last_ns)
			open_gap(walk, from_ns, 0);
		return;
	}
	stored = page_at(store, low);
	open_page(walk, stored);
	if (from_ns < stored->complete_ns)
		open_gap(walk, from_ns, stored->missed);
}

/* On to the next page; false: there is none. */
static bool turn(struct trace_walk *walk)
{
	const struct trace_stored *stored;

	if (walk->next >= walk->store->count)
		return false;
	stored = page_at(walk->store, walk->next++);
	open_page(walk, stored);
	if (stored->missed)
		open_gap(walk, walk->ns, stored->missed);
	return true;
}

bool trace_walk_next(struct trace_walk *walk, struct trace_event *event)
{
	struct trace_record record;

	/* That the last event was told after a gap was seen by the caller. */
	if (walk->told)
		walk->gap = false;
	walk->told = false;
	for (;;) {
		while (!trace_page_next(&walk->page, &record))
			if (!turn(walk))
				return false;
		if (record.ns > walk->ns)
			walk->ns = record.ns;
		if (!trace_event_read(walk->readers, walk->types, &record, event))
			continue;
		event->ns = walk->ns;
		walk->told = true;
		return true;
	}
}

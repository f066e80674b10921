/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One page of a trace ring, as trace_pipe_raw hands it out: a time stamp, how much was
 * committed, and records, each with the time since the one before.  Any bytes can be given:
 * what cannot be read ends the page.
 */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include "attribute/trace_format.h"

#define TRACE_MISSED_SOME UINT64_MAX	/* events were overwritten, the kernel does not say how many */

struct trace_page {
	const unsigned char *at, *end;
	uint64_t ns;		/* of the record that was read last, and before that of the page */
	uint64_t missed;	/* events overwritten before the first record; 0: none */
	bool broken;		/* it ended before its end */
};

struct trace_record {
	uint64_t ns;
	const unsigned char *data;	/* not aligned */
	size_t size;
};

/* @size bytes at @data; false: there is no page. */
bool trace_page_open(struct trace_page *page, const void *data, size_t size,
		     const struct trace_layout *layout);

/* The next record; false: there is none. */
bool trace_page_next(struct trace_page *page, struct trace_record *record);

#endif

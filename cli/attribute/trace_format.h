/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the kernel lays out a trace event, and a page of its ring: what tracefs says of it. */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_FIELDS 24		/* no event that is read here has more */
#define TRACE_FIELD_NAME 32

struct trace_field {
	char name[TRACE_FIELD_NAME];
	uint32_t offset, size;	/* in bytes, from the event's begin */
	bool negative;		/* it is signed */
	bool elsewhere;		/* it says where the value is: length << 16 | offset */
};

struct trace_format {
	uint32_t id;
	size_t count;
	struct trace_field fields[TRACE_FIELDS];
};

/* Where a page of the ring has what. */
struct trace_layout {
	uint32_t commit_offset, commit_size;
	uint32_t data_offset, data_size;
};

/* Of the text of events/SYSTEM/NAME/format; false: it is none. */
bool trace_format_parse(const char *text, struct trace_format *format);

/* NULL: the event has no such field. */
const struct trace_field *trace_format_field(const struct trace_format *format, const char *name);

/* Of the text of events/header_page; false: it is none, or no page that can be read here. */
bool trace_layout_parse(const char *text, struct trace_layout *layout);

#endif

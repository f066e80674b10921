// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "attribute/trace_ring.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the bit fields of a record's head are read as on little-endian machines"
#endif

/* The commit word's flags, and what is left for the size. */
#define MISSED_EVENTS (UINT64_C(1) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)
#define COMMITTED ((UINT64_C(1) << 27) - 1)

/* A record's head: 5 bits of type or length, 27 bits of time. */
#define TYPE_BITS 5
#define DELTA_BITS 27
#define TYPE_LENGTH_MOST 28	/* up to here it is the length, in words */
#define TYPE_PADDING 29
#define TYPE_EXTEND 30		/* of the time */
#define TYPE_STAMP 31
/* An absolute stamp lacks the topmost bits of the time. */
#define STAMP_BITS 59

static uint32_t word(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

bool trace_page_open(struct trace_page *page, const void *data, size_t size,
		     const struct trace_layout *layout)
{
	const unsigned char *bytes = data;
	uint64_t commit = 0, committed;

	memset(page, 0, sizeof(*page));
	if (size <= layout->data_offset)
		return false;
	memcpy(&page->ns, bytes, sizeof(page->ns));
	memcpy(&commit, bytes + layout->commit_offset, layout->commit_size);
	committed = commit & COMMITTED;
	page->at = bytes + layout->data_offset;
	if (committed > size - layout->data_offset) {
		page->broken = true;
		committed = 0;
	}
	page->end = page->at + committed;
	if (commit & MISSED_EVENTS) {
		page->missed = TRACE_MISSED_SOME;
		/*
		 * How many stands behind the records, if there was room: a long of the traced
		 * kernel, as the commit word is.
		 */
		if (commit & MISSED_STORED &&
		    (size_t)(bytes + size - page->end) >= layout->commit_size) {
			page->missed = 0;
			memcpy(&page->missed, page->end, layout->commit_size);
		}
		if (!page->missed)
			page->missed = TRACE_MISSED_SOME;
	}
	return true;
}

static bool give_up(struct trace_page *page)
{
	page->broken = true;
	page->at = page->end;
	return false;
}

bool trace_page_next(struct trace_page *page, struct trace_record *record)
{
	while (page->end - page->at >= 4) {
		size_t left = (size_t)(page->end - page->at) - 4, length;
		uint32_t head = word(page->at), type = head & ((1u << TYPE_BITS) - 1);
		uint64_t delta = head >> TYPE_BITS;

		page->at += 4;
		if (type && type <= TYPE_LENGTH_MOST) {
			length = 4 * type;
			if (length > left)
				return give_up(page);
			*record = (struct trace_record){ page->ns += delta, page->at, length };
			page->at += length;
			return true;
		}
		/* Padding without time is the rest of the page. */
		if (type == TYPE_PADDING && !delta)
			break;
		if (left < 4)
			return give_up(page);
		length = word(page->at);
		if (type == TYPE_EXTEND) {
			page->ns += ((uint64_t)length << DELTA_BITS) + delta;
			page->at += 4;
			continue;
		}
		if (type == TYPE_STAMP) {
			uint64_t top = page->ns & ~((UINT64_C(1) << STAMP_BITS) - 1);
			uint64_t stamp = ((uint64_t)length << DELTA_BITS) + delta;

			/* They wrap after 18 years of uptime. */
			page->ns = top | (stamp & ((UINT64_C(1) << STAMP_BITS) - 1));
			page->at += 4;
			continue;
		}
		/* Its length counts its own word too. */
		if (length < 4 || length > left)
			return give_up(page);
		page->ns += delta;
		if (!type)
			*record = (struct trace_record){ page->ns, page->at + 4, length - 4 };
		page->at += (length + 3) & ~(size_t)3;
		if (page->at > page->end)
			page->at = page->end;
		if (!type)
			return true;
	}
	page->at = page->end;
	return false;
}

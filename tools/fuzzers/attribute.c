// SPDX-License-Identifier: GPL-2.0-or-later
/* A recorded trace: the text of an event's format, a zero, and a page of a CPU's ring. */
#include "attribute/trace_events.h"
#include "attribute/trace_format.h"
#include "attribute/trace_ring.h"
#include "harness.h"

/* As the kernel has it; the input may say otherwise. */
static const char header[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

static uint64_t look(const struct trace_readers *readers, const uint8_t *data, size_t size)
{
	struct trace_page page;
	struct trace_record record;
	struct trace_event event;
	uint64_t sum = 0;

	if (!trace_page_open(&page, data, size, &readers->layout))
		return 0;
	while (trace_page_next(&page, &record)) {
		if (!trace_event_read(readers, ~UINT64_C(0), &record, &event))
			continue;
		for (size_t i = 0; i < TRACE_TEXTS; i++)
			sum += strlen(event.text[i]);
		for (int cpu = 0; cpu < 130; cpu += 43)
			sum += trace_event_mask_has(&event, cpu);
		for (size_t i = 0; i < 3; i++)
			sum += trace_event_address(&event, i);
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0, size);
	struct trace_format format;
	volatile uint64_t kept = 0;
	uint8_t *page;
	char *text;

	if (!end)
		return -1;
	text = harness_text(data, (size_t)(end - data));
	size -= (size_t)(end + 1 - data);
	page = malloc(size ? size : 1);
	if (!page)
		abort();
	memcpy(page, end + 1, size);
	for (size_t i = 0; i < trace_kinds_count && trace_format_parse(text, &format); i++) {
		struct trace_readers readers = { 0 };

		/* Its own if it names one, else each of them. */
		if (!strncmp(text, "name: ", 6) &&
		    strncmp(text + 6, trace_kinds[i].name, strlen(trace_kinds[i].name)))
			continue;
		if (!trace_layout_parse(text, &readers.layout) &&
		    !trace_layout_parse(header, &readers.layout))
			abort();
		if (trace_readers_add(&readers, &trace_kinds[i], &format))
			kept += look(&readers, page, size);
		trace_readers_free(&readers);
	}
	(void)kept;	/* all of it was read */
	free(page);
	free(text);
	return 0;
}

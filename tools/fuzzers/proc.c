// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of /proc/isolator: status, stats, senders, deliveries, "\n==> " before each. */
#include "base/file.h"
#include "proc/parse.h"
#include "proc/proc.h"
#include "harness.h"

#define MARK "\n==> "

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int (*const parse[])(struct proc_sample *sample, const char *file, char *text) = {
		parse_status, parse_stats, parse_senders, parse_deliveries,
	};
	struct proc_sample sample = { 0 };
	char *text, *part;

	if (memchr(data, 0, size))
		return -1;
	text = harness_text(data, size);
	part = text;
	for (size_t i = 0; i < PROC_FILES && part; i++) {
		char *next = strstr(part, MARK);

		if (next) {
			next[1] = '\0';	/* the line's end is the file's */
			next += strlen(MARK);
		}
		if (!file_is_whole(part, strlen(part)))
			break;
		sample.text[i] = harness_text((const uint8_t *)part, strlen(part));
		if (parse[i](&sample, "a file", sample.text[i]))
			break;
		part = next;
	}
	proc_free(&sample);
	free(text);
	return 0;
}

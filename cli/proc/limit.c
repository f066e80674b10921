// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/scan.h"
#include "base/text.h"
#include "proc/limit.h"

/* One line "WORD VALUE". */
static int take(struct scan *scan, struct limits *limits)
{
	const char *word = scan_word(scan);

	if (!strcmp(word, "deadline_ns"))
		return scan_number(scan, word, &limits->deadline_ns);
	if (!strcmp(word, "spin_ns"))
		return scan_number(scan, word, &limits->spin_ns);
	if (!strcmp(word, "perf"))
		limits->perf = scan_word(scan);
	else if (!strcmp(word, "msr"))
		limits->msr = scan_word(scan);
	else
		return scan_pass(scan, word);
	return 0;
}

/* 0, or -1, said why. */
static int parse(struct limits *limits, const char *path, size_t size)
{
	struct scan scan = { .file = path, .next = limits->text };

	if (!file_is_whole(limits->text, size)) {
		error_say("%s: it is cut off, or not a text file", path);
		return -1;
	}
	while (scan_line(&scan))
		if (take(&scan, limits))
			return -1;
	if (!limits->deadline_ns || !limits->spin_ns || !limits->perf || !limits->msr)
		return scan_fail(&scan, "a limit is not in it");
	return 0;
}

int limits_read(const char *directory, struct limits *limits)
{
	int error = 0;
	size_t size;
	char *path = text_format("%s/limits", directory);

	*limits = (struct limits){ 0 };
	limits->text = file_read(path, &size);
	if (!limits->text)
		limits->error = errno;
	else
		error = parse(limits, path, size);
	free(path);
	if (error)
		limits_free(limits);
	return error;
}

void limits_free(struct limits *limits)
{
	free(limits->text);
	*limits = (struct limits){ 0 };
}

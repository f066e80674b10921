// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/diff.h"
#include "base/term.h"
#include "base/text.h"

static size_t lines_of(const char *text)
{
	size_t count = 0;

	for (; *text; count++) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return count;
}

static const char *line_at(const char *text, size_t number)
{
	while (number--) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return text;
}

static bool same_line(const char *a, const char *b)
{
	size_t length = strcspn(a, "\n");

	/* Also whether the last one has an end. */
	return length == strcspn(b, "\n") && !strncmp(a, b, length) && a[length] == b[length];
}

static void put_lines(FILE *out, const char *indent, char sign, const char *text, size_t from,
		      size_t count)
{
	const char *at = line_at(text, from);

	for (; count; count--) {
		size_t length = strcspn(at, "\n");
		char *line = text_format("%.*s", (int)length, at);

		fprintf(out, "%s%c", indent, sign);
		term_put(out, line);
		fputc('\n', out);
		if (!at[length])
			fprintf(out, "%s\\ No newline at end of file\n", indent);
		free(line);
		at += length;
		at += *at == '\n';
	}
}

void diff_put(FILE *out, const char *indent, const char *path, const char *before,
	      const char *after)
{
	const char *old = before ? before : "";
	size_t had = lines_of(old), has = lines_of(after), same = 0, rest = 0;

	while (same < had && same < has &&
	       same_line(line_at(old, same), line_at(after, same)))
		same++;
	while (rest < had - same && rest < has - same &&
	       same_line(line_at(old, had - rest - 1), line_at(after, has - rest - 1)))
		rest++;
	had -= same + rest;
	has -= same + rest;
	if (!had && !has)
		return;
	fprintf(out, "%s--- %s\n%s+++ %s\n", indent, before ? path : "/dev/null", indent, path);
	/* An empty stretch is named by the line before it. */
	fprintf(out, "%s@@ -%zu,%zu +%zu,%zu @@\n", indent, same + !!had, had, same + !!has, has);
	put_lines(out, indent, '-', old, same, had);
	put_lines(out, indent, '+', after, same, has);
}

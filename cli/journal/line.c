// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "journal/line.h"
#include "journal/undo_line.h"

static void put_field(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~' || *text == '\\')
			fprintf(out, "\\%03o", (unsigned char)*text);
		else
			fputc(*text, out);
	}
}

char *journal_line_make(const char *const fields[JOURNAL_FIELDS], size_t *size)
{
	char *line;
	FILE *out = text_open(&line, size);

	for (int i = 0; i < JOURNAL_FIELDS; i++) {
		put_field(out, fields[i]);
		fputc(i + 1 < JOURNAL_FIELDS ? '\t' : '\n', out);
	}
	fclose(out);
	return line;
}

/* \ooo into its byte, in place; false: there is something else behind a backslash. */
static bool unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned int byte = 0;

		if (*text != '\\') {
			*to++ = *text;
			continue;
		}
		for (int i = 0; i < 3; i++) {
			if (*++text < '0' || *text > '7')
				return false;
			byte = byte * 8 + (unsigned int)(*text - '0');
		}
		if (!byte || byte > 255)
			return false;
		*to++ = (char)byte;
	}
	*to = '\0';
	return true;
}

bool journal_line_fields(char *line, char *fields[JOURNAL_FIELDS])
{
	const struct undo_kind *kind;

	for (int i = 0; i < JOURNAL_FIELDS; i++) {
		fields[i] = strsep(&line, "\t");
		if (!fields[i] || !unescape(fields[i]))
			return false;
	}
	kind = undo_kind(fields[JOURNAL_WHAT]);
	return !line && (!kind || !kind->task || text_is_number(fields[JOURNAL_NAME]));
}

char *journal_line_all(int fd)
{
	size_t size, first = strlen(JOURNAL_FIRST_LINE);
	char *text = lseek(fd, 0, SEEK_SET) ? NULL : file_read_fd(fd, &size);

	if (text && (strlen(text) != size ||
		     strncmp(text, JOURNAL_FIRST_LINE, size < first ? size : first))) {
		free(text);
		text = NULL;
		errno = EBADMSG;
	}
	return text;
}

char *journal_line_last(const char *text, const char **end)
{
	const char *from;

	if (!*end)
		*end = strrchr(text, '\n');
	/* The first line is no change. */
	if (!*end || *end < text + strlen(JOURNAL_FIRST_LINE))
		return NULL;
	from = *end;
	while (from[-1] != '\n')
		from--;
	text = from;
	from = *end;
	*end = text - 1;
	return text_format("%.*s", (int)(from - text), text);
}

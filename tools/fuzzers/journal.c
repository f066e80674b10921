// SPDX-License-Identifier: GPL-2.0-or-later
/* What restore and shield read of a journal, or of the notes of a boot: backwards, line by line. */
#include "journal/line.h"
#include "shield/notes.h"
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shield_notes notes;
	const char *end = NULL;
	char *text, *line;

	/* Others are refused when they are read. */
	if (size < strlen(JOURNAL_FIRST_LINE) || memchr(data, 0, size) ||
	    memcmp(data, JOURNAL_FIRST_LINE, strlen(JOURNAL_FIRST_LINE)))
		return -1;
	text = harness_text(data, size);
	while ((line = journal_line_last(text, &end))) {
		char *fields[JOURNAL_FIELDS];
		struct cpulist was, now;

		if (journal_line_fields(line, fields)) {
			size_t length;
			char *again = journal_line_make((const char *const *)fields, &length);
			char *back[JOURNAL_FIELDS];

			if (length < JOURNAL_FIELDS || again[length - 1] != '\n')
				abort();
			again[length - 1] = '\0';
			if (!journal_line_fields(again, back))
				abort();
			for (size_t i = 0; i < JOURNAL_FIELDS; i++)
				if (strcmp(fields[i], back[i]))
					abort();
			shield_note_lists(fields[JOURNAL_TEXT], &was, &now);
			free(again);
		}
		free(line);
	}
	shield_notes_read(&notes, text);
	shield_notes_free(&notes);
	free(text);
	return 0;
}

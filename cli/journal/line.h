/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of a journal (journal.h). */
#ifndef JOURNAL_LINE_H
#define JOURNAL_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_FIRST_LINE "isolator-journal 1\n"

enum { JOURNAL_WHAT, JOURNAL_NAME, JOURNAL_VALUE, JOURNAL_TEXT, JOURNAL_FIELDS };

/* The fields as one line, with its end; to be freed. */
char *journal_line_make(const char *const fields[JOURNAL_FIELDS], size_t *size);

/* Takes @line apart, in place, without its end; false: it is damaged. */
bool journal_line_fields(char *line, char *fields[JOURNAL_FIELDS]);

/* All of the journal @fd; NULL with errno, EBADMSG: it is none. */
char *journal_line_all(int fd);

/*
 * The last line of @text, a copy to be freed, which ends before @*end; that moves to
 * before it.  NULL: there is no more.  What a crash has cut off, which was never acted
 * on, is left out; begin with @*end NULL.
 */
char *journal_line_last(const char *text, const char **end);

#endif

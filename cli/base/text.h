/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts on the heap; without memory these end the program. */
#ifndef TEXT_H
#define TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* What is written to it is *@text, to be freed, once it is closed. */
FILE *text_open(char **text, size_t *size);

/* To be freed. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_formatv(const char *format, va_list arguments)
	__attribute__((format(printf, 1, 0)));

/* @text without blanks and line ends around it; to be freed. */
char *text_trim(const char *text);

/* Is @word one of those in @text, with blanks between? */
bool text_has_word(const char *text, const char *word);

/* Is @text a decimal number, and nothing else, as the name of a process's directory is? */
bool text_is_number(const char *text);

/* @text as one word of a shell's; to be freed. */
char *text_shell(const char *text);

#endif

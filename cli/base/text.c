// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define BLANKS " \t\n"

FILE *text_open(char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);

	if (!out)
		error_no_memory();
	return out;
}

char *text_formatv(const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		error_no_memory();
	return text;
}

char *text_format(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = text_formatv(format, arguments);
	va_end(arguments);
	return text;
}

char *text_trim(const char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length && strchr(BLANKS, text[length - 1]))
		length--;
	return text_format("%.*s", (int)length, text);
}

bool text_has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	while (*(text += strspn(text, BLANKS))) {
		size_t one = strcspn(text, BLANKS);

		if (one == length && !strncmp(text, word, one))
			return true;
		text += one;
	}
	return false;
}

bool text_is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

char *text_shell(const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:+-@%=";
	size_t size;
	char *word;
	FILE *out;

	if (*text && !text[strspn(text, plain)])
		return text_format("%s", text);
	out = text_open(&word, &size);
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(*text, out);
	}
	fputc('\'', out);
	fclose(out);
	return word;
}

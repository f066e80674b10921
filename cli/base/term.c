// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/term.h"
#include "base/text.h"
#include "base/utf8.h"

#define ROWS 24
#define COLUMNS 80
#define LEAST_COLUMNS 40	/* fewer are no room for words */

bool term_colours(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) && !(no && *no) && term && strcmp(term, "dumb");
}

const char *term_style(bool colours, enum term_style style)
{
	static const char *const sequences[] = {
		[TERM_PLAIN] = "\033[0m",
		[TERM_BOLD] = "\033[1m",
		[TERM_RED] = "\033[1;31m",
		[TERM_DIM] = "\033[2m",
	};

	return colours ? sequences[style] : "";
}

const char *term_time(char text[TERM_TIME], uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = (double)ns;
	size_t unit = 0;

	/* Not 1000 us where it is rounded to that: 1 ms. */
	for (; unit < 3 && value >= 999.5; unit++)
		value /= 1000;
	snprintf(text, TERM_TIME, unit ? "%.3g %s" : "%.0f %s",
		 value, units[unit]);
	/* Seconds have no larger unit; %g would write 1e+04. */
	if (value >= 999.5)
		snprintf(text, TERM_TIME, "%.0f s", value);
	return text;
}

/* Is it for the terminal, or no character? */
static bool is_control(long code)
{
	return code < 0 || utf8_is_control(code);
}

void term_put(FILE *out, const char *text)
{
	while (*text) {
		const char *from = text;

		if (is_control(utf8_next(&text)))
			fputc('?', out);
		else
			fwrite(from, 1, (size_t)(text - from), out);
	}
}

void term_clean(char *text)
{
	const char *at = text;

	while (*at) {
		const char *from = at;

		if (is_control(utf8_next(&at))) {
			*text++ = '?';
		} else {
			memmove(text, from, (size_t)(at - from));
			text += at - from;
		}
	}
	*text = '\0';
}

bool term_is_clean(const char *text)
{
	while (*text)
		if (is_control(utf8_next(&text)))
			return false;
	return true;
}

/* One line of at most @columns characters; sequences that colour take no room. */
static const char *cut_line(FILE *out, const char *text, unsigned int columns)
{
	unsigned int column = 0;

	while (*text && *text != '\n') {
		const char *from = text;

		if (*text == '\033') {
			text += strcspn(text, "m");
			text += *text == 'm';
			fwrite(from, 1, (size_t)(text - from), out);
			continue;
		}
		utf8_next(&text);
		if (column++ < columns)
			fwrite(from, 1, (size_t)(text - from), out);
	}
	return *text ? text + 1 : text;
}

void term_cut(FILE *out, const char *text, unsigned int rows, unsigned int columns,
	      const char *end_of_line)
{
	/* A line end in the last row would scroll. */
	for (unsigned int row = 1; *text && row < rows; row++) {
		text = cut_line(out, text, columns);
		fprintf(out, "%s\n", end_of_line);
	}
}

/* How many characters of @text, up to @end, take room: colours do not. */
static unsigned int width(const char *text, const char *end)
{
	unsigned int columns = 0;

	while (text < end) {
		if (*text == '\033') {
			text += strcspn(text, "m");
			text += *text == 'm';
			continue;
		}
		utf8_next(&text);
		columns++;
	}
	return columns;
}

/* Is @word, up to a blank or a line end, one of those that a command's next word belongs to? */
static bool begins_command(const char *word)
{
	static const char *const words[] = {
		"echo", "isolator", "sudo", "grub-reboot", ">", ">>", "&&",
	};
	size_t length = strcspn(word, " \n");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == length && !strncmp(words[i], word, length))
			return true;
	return false;
}

/* The end of @word, or of the words between quotes that begin with it. */
static const char *word_end(const char *word)
{
	const char *close = *word == '\'' ? word + 1 + strcspn(word + 1, "'\n") : word;

	return close + strcspn(close, " \n");
}

/* The same, with what cannot be copied without it: "echo 1 > FILE" stays in one line. */
static const char *unbroken(const char *word)
{
	const char *end = word_end(word);

	while (*end == ' ' && (begins_command(word) || end[1] == '>' || end[1] == '&')) {
		word = end + 1;
		end = word_end(word);
	}
	return end;
}

unsigned int term_fold(FILE *out, const char *text, unsigned int columns, unsigned int hang)
{
	unsigned int lines = 0;

	while (*text) {
		unsigned int indent = (unsigned int)strspn(text, " "), column = indent;
		unsigned int begin = indent;	/* of the line that is written */
		const char *end = text + strcspn(text, "\n");

		fprintf(out, "%*s", (int)indent, "");
		text += indent;
		while (text < end) {
			unsigned int gap = (unsigned int)strspn(text, " ");
			const char *word = text + gap;
			const char *next = unbroken(word);
			unsigned int length = width(word, next);

			/* What is too long for any line stays where it is. */
			if (column > begin && column + gap + length > columns &&
			    indent + hang + length <= columns) {
				begin = column = indent + hang;
				fprintf(out, "\n%*s", (int)begin, "");
				gap = 0;
				lines++;
			}
			text = next;
			if (word == next)
				break;	/* blanks that end a line */
			fprintf(out, "%*s", (int)gap, "");
			fwrite(word, 1, (size_t)(next - word), out);
			column += gap + length;
		}
		fputc('\n', out);
		lines++;
		text += *text == '\n';
	}
	return lines;
}

void term_folded_open(struct term_folded *folded)
{
	folded->stream = text_open(&folded->text, &folded->size);
}

void term_folded_close(struct term_folded *folded, FILE *out)
{
	fclose(folded->stream);
	term_fold(out, folded->text, term_columns(out), TERM_HANG);
	free(folded->text);
}

void term_size(FILE *out, unsigned int *rows, unsigned int *columns)
{
	struct winsize size = { 0 };

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col) {
		size.ws_row = ROWS;
		size.ws_col = COLUMNS;
	}
	*rows = size.ws_row;
	*columns = size.ws_col;
}

unsigned int term_columns(FILE *out)
{
	struct winsize size = { 0 };

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || size.ws_col < LEAST_COLUMNS)
		return TERM_COLUMNS;
	return size.ws_col < TERM_COLUMNS ? size.ws_col : TERM_COLUMNS;
}

void term_show(FILE *out, const char *text)
{
	unsigned int rows, columns;

	term_size(out, &rows, &columns);
	/* Home, then each line with what is left of an older one erased, then below. */
	fputs("\033[H", out);
	term_cut(out, text, rows, columns, "\033[K");
	fputs("\033[J", out);
}

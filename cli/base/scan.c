// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/scan.h"

int scan_fail(const struct scan *scan, const char *format, ...)
{
	va_list arguments;
	char why[256];

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	error_say("%s, line %u: %s; it is damaged, or of a kernel that this command does not know: install the command that belongs to the kernel",
		  scan->file, scan->line, why);
	return -1;
}

bool scan_line(struct scan *scan)
{
	if (!*scan->next)
		return false;
	scan->line++;
	scan->at = strsep(&scan->next, "\n");
	return true;
}

char *scan_word(struct scan *scan)
{
	return scan->at ? strsep(&scan->at, " ") : NULL;
}

char *scan_symbol(struct scan *scan)
{
	char *word = scan_word(scan), *end;

	if (!word || !scan->at || scan->at[0] != '[')
		return word;
	end = strchr(scan->at, ']');
	if (!end || (end[1] && end[1] != ' '))
		return word;
	scan->at[-1] = ' ';
	scan->at = end[1] ? end + 2 : NULL;
	end[1] = '\0';
	return word;
}

static bool to_number(const char *word, uint64_t *number)
{
	int base = !strncmp(word, "0x", 2) ? 16 : 10;
	const char *digits = base == 16 ? word + 2 : word;
	char *end;

	/* strtoull() alone would take a sign and spaces. */
	if (!*digits || strspn(digits, base == 16 ? "0123456789abcdef" : "0123456789") !=
	    strlen(digits))
		return false;
	errno = 0;
	*number = strtoull(digits, &end, base);
	return !errno;
}

static bool to_integer(const char *word, int *integer)
{
	bool negative = *word == '-';
	uint64_t number;

	if (!to_number(word + negative, &number) || number > INT_MAX)
		return false;
	*integer = negative ? -(int)number : (int)number;
	return true;
}

int scan_number(struct scan *scan, const char *what, uint64_t *number)
{
	const char *word = scan_word(scan);

	if (!word || !to_number(word, number))
		return scan_fail(scan, "%s must be a number, not \"%.40s\"", what,
				 word ? word : "");
	return 0;
}

static int value(struct scan *scan, struct scan_key *key)
{
	const char *word;

	if (key->seen)
		return scan_fail(scan, "\"%s\" is there twice", key->name);
	key->seen = true;
	switch (key->type) {
	case SCAN_NUMBER:
		return scan_number(scan, key->name, key->to.number);
	case SCAN_INTEGER:
		word = scan_word(scan);
		if (!word || !to_integer(word, key->to.integer))
			return scan_fail(scan, "%s must be a number, not \"%.40s\"", key->name,
					 word ? word : "");
		return 0;
	case SCAN_REST:
		word = scan->at;
		scan->at = NULL;
		break;
	case SCAN_WORD:
		word = scan_word(scan);
		break;
	default:
		word = scan_symbol(scan);
	}
	/* Only a task's name may be empty. */
	if (!word || (!*word && key->type != SCAN_REST))
		return scan_fail(scan, "\"%s\" has no value", key->name);
	*key->to.text = word;
	return 0;
}

static bool is_name(const char *word)
{
	return *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

int scan_pass(struct scan *scan, const char *word)
{
	if (!is_name(word) || !scan->at)
		return scan_fail(scan, "\"%.40s\" is not one of its words", word);
	scan->at = NULL;
	return 0;
}

int scan_keys(struct scan *scan, struct scan_key *keys, size_t count)
{
	const char *name;
	size_t i;

	while ((name = scan_word(scan))) {
		for (i = 0; i < count && strcmp(keys[i].name, name); i++)
			;
		if (i < count && value(scan, &keys[i]))
			return -1;
		if (i < count)
			continue;
		/* A newer kernel's key, or no key at all. */
		if (!is_name(name))
			return scan_fail(scan, "\"%.40s\" is not a key", name);
		if (!scan_symbol(scan))
			return scan_fail(scan, "\"%.40s\" has no value", name);
	}
	for (i = 0; i < count; i++)
		if (!keys[i].seen && !keys[i].optional)
			return scan_fail(scan, "no \"%s\" in it", keys[i].name);
	return 0;
}

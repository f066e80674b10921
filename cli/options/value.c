// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "options/value.h"

#define NS_MAX 1e18
#define DIGITS "0123456789"

static bool to_number(const char *text, unsigned int min, unsigned int *number)
{
	unsigned long value;

	if (!*text || text[strspn(text, DIGITS)])
		return false;
	errno = 0;
	value = strtoul(text, NULL, 10);
	if (errno || value < min || value > UINT_MAX)
		return false;
	*number = (unsigned int)value;
	return true;
}

bool value_time(const char *text, const char *unit, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 },
		    { "min", 60e9 }, { "h", 3600e9 } };
	size_t digits = strspn(text, DIGITS ".");
	double number;
	char *end;

	if (text[digits])
		unit = text + digits + strspn(text + digits, " ");
	number = strtod(text, &end);
	if (!digits || end != text + digits)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcasecmp(units[i].name, unit))
			continue;
		number *= units[i].ns;
		if ((number && number < 1) || number > NS_MAX)
			return false;
		*ns = (uint64_t)number;
		return true;
	}
	return false;
}

/* A time, or "never" where the option's argument names that. */
static bool to_time(const struct option_spec *spec, const char *text)
{
	if (!strchr(spec->argument, '|') || strcmp(text, "never"))
		return value_time(text, spec->unit, spec->to.ns) && (*spec->to.ns || spec->zero);
	*spec->to.ns = UINT64_MAX;
	return true;
}

/* Which one of @words, "a|b", is @text? */
static bool to_word(const char *text, const char *words, unsigned int *number)
{
	for (unsigned int i = 0; *words; i++) {
		size_t length = strcspn(words, "|");

		if (strlen(text) == length && !strncmp(text, words, length)) {
			*number = i;
			return true;
		}
		words += length;
		words += *words == '|';
	}
	return false;
}

bool value_set(const struct option_spec *spec, const char *text)
{
	switch (spec->type) {
	case OPTION_HELP:
	case OPTION_HELP_ALL:
		return true;
	case OPTION_FLAG:
		*spec->to.flag = true;
		return true;
	case OPTION_NUMBER:
		if (to_number(text, spec->min, spec->to.number))
			return true;
		error_say("%s: \"%s\" is not a whole number of at least %u", error_option(spec->name), text,
			  spec->min);
		return false;
	case OPTION_TIME:
		if (to_time(spec, text))
			return true;
		error_say("%s: \"%s\" is not a time%s, such as 500us, 20ms, 1.5s, 5min or 1h%s; a number alone is in %s",
			  error_option(spec->name), text, spec->zero ? "" : " above 0", strchr(spec->argument, '|') ? ", or never" : "",
			  spec->unit);
		return false;
	case OPTION_CPUS:
		if (cpulist_parse(text, spec->to.cpus))
			return true;
		error_say("%s: \"%s\" is not a list of CPUs below %d, such as 1 or 1,3-5",
			  error_option(spec->name), text, CPULIST_MAX);
		return false;
	case OPTION_WORD:
		if (to_word(text, spec->argument, spec->to.number))
			return true;
		error_say("%s: \"%s\" is not one of %s", error_option(spec->name), text, spec->argument);
		return false;
	case OPTION_TEXTS:
		*ARRAY_ADD(spec->to.texts->texts, spec->to.texts->count) = text;
		return true;
	case OPTION_DIRECTORY:
	case OPTION_FILE:
		if (!strcmp(text, OPTION_STDIO)) {
			error_say("%s: standard input and output (-) are not possible here; write ./- for the name -",
				  error_option(spec->name));
			return false;
		}
		break;
	case OPTION_INPUT:
	case OPTION_OUTPUT:
	case OPTION_USER:
		break;
	}
	if (*text) {
		*spec->to.text = text;
		return true;
	}
	error_say("%s: %s is empty", error_option(spec->name), spec->argument);
	return false;
}

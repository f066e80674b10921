// SPDX-License-Identifier: GPL-2.0-or-later
/* /etc/isolator.conf: lines "name = value", each with what it may be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"
#include "configure/rules.h"
#include "machine/online.h"
#include "options/value.h"

#define MILLISECOND 1000000ULL
#define SECOND 1000000000ULL
#define HOUR (3600 * SECOND)
#define DIGITS "0123456789"
#define POSSIBLE "/sys/devices/system/cpu/possible"

/* The file while it is read. */
struct reading {
	struct rules *rules;
	const char *path;
	unsigned int line;
	unsigned int wrong;	/* lines that are */
	unsigned int max_cpus, max_line, housekeeping, housekeeping_line;
};

/* A time that has a unit. */
static bool to_time(const char *text, uint64_t most, uint64_t *ns)
{
	uint64_t value;

	if (!value_time(text, "", &value) || value < MILLISECOND || value > most)
		return false;
	*ns = value;
	return true;
}

static bool to_number(const char *text, unsigned int *number)
{
	if (!*text || text[strspn(text, DIGITS)] || strlen(text) > 4 || !strtoul(text, NULL, 10))
		return false;
	*number = (unsigned int)strtoul(text, NULL, 10);
	return *number <= CPULIST_MAX;
}

static bool to_cpus(const char *text, struct cpulist *cpus)
{
	if (strcmp(text, "none"))
		return cpulist_parse(text, cpus);
	*cpus = (struct cpulist){ .given = true };
	return true;
}

static bool to_queue(const char *text, bool *queue)
{
	*queue = !strcmp(text, "queue");
	return *queue || !strcmp(text, "refuse");
}

enum key { KEY_CPUS, KEY_MAX_CPUS, KEY_HOUSEKEEPING, KEY_DEADLINE, KEY_SPIN, KEY_PERF, KEY_MSR, KEYS };

static const struct {
	const char *name;
	const char *allowed;
} keys[KEYS] = {
	[KEY_CPUS] = { "cpus", "a list of CPUs such as 2-3 or 1,4-7, or none" },
	[KEY_MAX_CPUS] = { "max-cpus", "a number of CPUs, from 1 on" },
	[KEY_HOUSEKEEPING] = { "housekeeping", "a number of CPUs, from 1 on" },
	[KEY_DEADLINE] = { "deadline", "a time with a unit from 1ms to 1h, such as 500ms or 10s" },
	[KEY_SPIN] = { "spin", "a time with a unit from 1ms to 1s, such as 100ms" },
	[KEY_PERF] = { "perf", "refuse or queue" },
	[KEY_MSR] = { "msr", "refuse or queue" },
};

static bool set(struct reading *reading, enum key key, const char *value)
{
	struct rules *rules = reading->rules;

	switch (key) {
	case KEY_CPUS:
		return to_cpus(value, &rules->cpus);
	case KEY_MAX_CPUS:
		return to_number(value, &reading->max_cpus);
	case KEY_HOUSEKEEPING:
		return to_number(value, &reading->housekeeping);
	case KEY_DEADLINE:
		return to_time(value, HOUR, &rules->deadline_ns);
	case KEY_SPIN:
		return to_time(value, SECOND, &rules->spin_ns);
	case KEY_PERF:
		return to_queue(value, &rules->queue_perf);
	default:
		return to_queue(value, &rules->queue_msr);
	}
}

static unsigned int *line_of(struct reading *reading, enum key key)
{
	static const enum rule rules[KEYS] = {
		[KEY_CPUS] = RULE_CPUS, [KEY_DEADLINE] = RULE_DEADLINE, [KEY_SPIN] = RULE_SPIN,
		[KEY_PERF] = RULE_PERF, [KEY_MSR] = RULE_MSR,
	};

	if (key == KEY_MAX_CPUS)
		return &reading->max_line;
	if (key == KEY_HOUSEKEEPING)
		return &reading->housekeeping_line;
	return &reading->rules->line[rules[key]];
}

static void complain(struct reading *reading, unsigned int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void complain(struct reading *reading, unsigned int line, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = text_formatv(format, arguments);
	va_end(arguments);
	error_say("%s:%u: %s", reading->path, line, text);
	free(text);
	reading->wrong++;
}

/* "name = value", without blanks around it. */
static void take(struct reading *reading, const char *text)
{
	const char *equals = strchr(text, '=');
	char *before, *name, *value;
	enum key key = 0;

	if (!equals) {
		complain(reading, reading->line, "\"%s\" is not a line \"name = value\"", text);
		return;
	}
	before = text_format("%.*s", (int)(equals - text), text);
	name = text_trim(before);
	value = text_trim(equals + 1);
	while (key < KEYS && strcmp(keys[key].name, name))
		key++;
	if (key == KEYS)
		complain(reading, reading->line,
			 "unknown name \"%s\"; the names are cpus, max-cpus, housekeeping, deadline, spin, perf and msr",
			 name);
	else if (*line_of(reading, key))
		complain(reading, reading->line, "%s is in line %u already: keep one of them",
			 name, *line_of(reading, key));
	else if (!set(reading, key, value))
		complain(reading, reading->line, "%s must be %s, not \"%s\"", name,
			 keys[key].allowed, value);
	else
		*line_of(reading, key) = reading->line;
	free(value);
	free(name);
	free(before);
}

/* What /sys lists; false: it is not mounted, and nothing can be compared with it. */
static bool machine(const char *root, const char *path, char **text, struct cpulist *list)
{
	*text = rules_shown(root, path);
	if (*text && cpulist_read(*text, list))
		return true;
	free(*text);
	return false;
}

/* The CPUs of the file against the machine's, and against its own bounds. */
static void check_cpus(struct reading *reading, const char *root)
{
	const struct cpulist *cpus = &reading->rules->cpus;
	unsigned int line = reading->rules->line[RULE_CPUS];
	size_t n = cpulist_count(cpus);
	struct cpulist list;
	char *text;

	if (reading->max_line && n > reading->max_cpus)
		complain(reading, line, "cpus has %zu CPUs, and max-cpus in line %u is %u", n,
			 reading->max_line, reading->max_cpus);
	if (machine(root, POSSIBLE, &text, &list)) {
		if (!cpulist_within(cpus, &list))
			complain(reading, line, "cpus has CPUs that this machine lacks; it has %s",
				 text);
		free(text);
	}
	if (n && machine(root, ONLINE_PATH, &text, &list)) {
		cpulist_minus(&list, cpus);
		if (cpulist_count(&list) < reading->housekeeping)
			complain(reading, line, "cpus leaves %zu of the online CPUs %s for everything else, but %u must stay%s: take some out of cpus",
				 cpulist_count(&list), text, reading->housekeeping,
				 reading->housekeeping_line ? " (housekeeping)" : "");
		free(text);
	}
}

int rules_read(struct rules *rules, const char *root, const char *path)
{
	struct reading reading = { .rules = rules, .path = path, .housekeeping = 1 };
	char *text, *next, *line;
	size_t size;

	rules_default(rules);
	text = strcmp(path, OPTION_STDIO) ? root_read(root, path, &size) :
		file_read_fd(STDIN_FILENO, &size);
	if (!text) {
		error_say("%s: %s", path, strerror(errno));
		return -1;
	}
	if (strlen(text) != size) {
		error_say("%s: it is not a text file", path);
		free(text);
		return -1;
	}
	next = text;
	while ((line = strsep(&next, "\n"))) {
		char *trimmed;

		reading.line++;
		line[strcspn(line, "#")] = '\0';
		trimmed = text_trim(line);
		if (*trimmed)
			take(&reading, trimmed);
		free(trimmed);
	}
	free(text);
	check_cpus(&reading, root);
	return reading.wrong ? -1 : 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator attribute: the causes of given outliers in a trace that was recorded. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/attribute.h"
#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/term.h"
#include "options/command.h"

static const char *list_file;
static bool want_json;
static unsigned int top = 10;

static int run(int argc, char **argv);

static const struct option_spec options[] = {
	OPTION_HELP_SPEC,
	{ "outliers", 0, OPTION_FILE, "FILE",
	  "lines of: CPU TID TRIGGER FROM-NS TO-NS VALUE-NS", .to.text = &list_file },
	{ "top", 0, OPTION_NUMBER, "N", "show the worst N outliers (default 10)",
	  .to.number = &top, .min = 1 },
	{ "json", 0, OPTION_FLAG, NULL,
	  "print the value of \"attribution\" (schema isolator.measure, version 1)",
	  .to.flag = &want_json },
	{ 0 },
};

const struct command attribute_command = {
	.name = "attribute",
	.operands = "DIRECTORY",
	.min_operands = 1,
	.max_operands = 1,
	.about = "Finds the causes of outliers in a trace that was recorded: a directory laid out as tracefs.",
	.options = options,
	.examples = (const char *const []){
		"isolator attribute --outliers list recording", "explain them as measure --why does",
		NULL,
	},
	.exits = (const char *const []){
		"0", "done",
		"1", "an error, which says what to do about it",
		NULL,
	},
	.hidden = true,
	.run = run,
};

struct list {
	struct outlier *outliers;
	size_t count;
	struct cpulist cpus;
};

static int read_list(struct list *list)
{
	size_t size;
	char *text = file_read(list_file, &size), *rest = text, *line;
	unsigned int number = 0;

	if (!text)
		return error_say("%s: %s", list_file, strerror(errno));
	while ((line = strsep(&rest, "\n"))) {
		struct outlier *outlier;
		int end = -1;

		number++;
		if (!*line)
			continue;
		outlier = ARRAY_ADD(list->outliers, list->count);
		sscanf(line, "%d %d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n",
		       &outlier->cpu, &outlier->tid, &outlier->trigger, &outlier->from_ns,
		       &outlier->to_ns, &outlier->value_ns, &end);
		if (end < 0 || line[end] || outlier->cpu < 0 || outlier->cpu >= CPULIST_MAX) {
			error_say("%s, line %u: \"%.60s\" is not an outlier; a line is CPU TID TRIGGER FROM-NS TO-NS VALUE-NS",
				  list_file, number, line);
			free(text);
			return EXIT_ERROR;
		}
		cpulist_add(&list->cpus, outlier->cpu);
	}
	free(text);
	return list->count ? 0 : error_say("%s has no outlier", list_file);
}

static int look(const struct list *list, const char *directory)
{
	const struct attribute_options wanted = { .cpus = &list->cpus, .most = top };
	struct finding *finding = malloc(sizeof(*finding));
	struct attribute *attribute;
	char *why;

	if (!finding)
		return error_say("no memory; free some");
	attribute = attribute_open_copy(&wanted, directory, &why);
	if (!attribute) {
		error_say("%s: %s", directory, why);
		free(why);
		free(finding);
		return EXIT_ERROR;
	}
	for (size_t i = 0; i < list->count; i++)
		attribute_look(attribute, &list->outliers[i], finding);
	if (want_json) {
		struct json json = { .out = stdout };

		attribute_json(&json, NULL, attribute, NULL);
		putchar('\n');
	} else {
		attribute_text(stdout, attribute, top, term_colours(stdout));
	}
	attribute_close(attribute);
	free(finding);
	return EXIT_PASS;
}

static int run(int argc, char **argv)
{
	struct list list = { 0 };
	int code;

	(void)argc;
	if (!list_file)
		return error_say("missing option --outliers FILE, the outliers to explain");
	code = read_list(&list);
	if (!code)
		code = look(&list, argv[0]);
	free(list.outliers);
	return code;
}

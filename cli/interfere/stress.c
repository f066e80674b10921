// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stressors of stress-ng: all of a class, one after another for a second each, on each
 * CPU its own.  What it calls bogo operations is counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "interfere/program.h"

#define PROGRAM "stress-ng"
#define SKIPPED_FIRST 2		/* its exit codes: failed, no resource, not implemented, ... */
#define SKIPPED_LAST 7

/* What it says of its classes, or of a class followed by "?"; to be freed. */
static char *ask(const char *class)
{
	char *word = text_format("%s?", class);
	char *said = program_said((const char *const []){ PROGRAM, "--class", word, NULL });

	free(word);
	return said;
}

/* The names behind "class 'NAME' stressors:"; NULL: there is no such class.  To be freed. */
static char *stressors(const char *class)
{
	char *said = ask(class), *names = NULL;
	const char *at = said ? strstr(said, "stressors: ") : NULL;

	if (at)
		names = text_trim(at + strlen("stressors: "));
	free(said);
	return names;
}

/* The classes that there are, in one line; to be freed. */
static char *classes(void)
{
	char *said = ask("no-such-class"), *all;
	const char *at = said ? strstr(said, "available classes: ") : NULL;

	at = at ? at + strlen("available classes: ") : "";
	all = text_format("%.*s", (int)strcspn(at, "\n"), at);
	free(said);
	return all;
}

static char *missing(const char *variant)
{
	char *names, *all, *why = NULL;

	if (!program_exists(PROGRAM))
		return text_format("stress-ng is not installed: apt install stress-ng");
	if (!*variant)
		return text_format("of which class?  stress:cpu, and so on: stress-ng --class list");
	/* It would take another word for an option of its own. */
	names = variant[strspn(variant, "abcdefghijklmnopqrstuvwxyz-")] || *variant == '-' ?
		NULL : stressors(variant);
	if (!names) {
		all = classes();
		why = text_format("stress-ng has no class \"%s\"; it has %s", variant, all);
		free(all);
	}
	free(names);
	return why;
}

static int settle(struct work *work)
{
	work->words = text_format("stress-ng's class %s, a second for each stressor", work->variant);
	return 0;
}

/* The sum of what it has written of its operations. */
static uint64_t operations(const char *yaml)
{
	static const char name[] = "bogo-ops: ";
	size_t size;
	char *text = file_read(yaml, &size);
	uint64_t sum = 0;

	for (const char *at = text; at && (at = strstr(at, name)); at += sizeof(name) - 1)
		sum += strtoull(at + sizeof(name) - 1, NULL, 10);
	free(text);
	return sum;
}

static void stress(struct work *work, const char *name, const char *cpu, const char *yaml)
{
	char *option = text_format("--%s", name), said[WORK_TEXT];
	int status;

	remove(yaml);
	status = program_run(work, (const char *const []){ PROGRAM, option, "1", "--timeout", "1",
		"--taskset", cpu, "--temp-path", work->scratch, "--metrics-brief", "--yaml", yaml,
		"--no-rand-seed", NULL }, said, false);
	free(option);
	/* What this machine, or this user, cannot run is left out. */
	if (status && (status < SKIPPED_FIRST || status > SKIPPED_LAST))
		work_fail(work, "stress-ng --%s ended with %d: %.160s", name, status, said);
	work_did(work->slot, operations(yaml));
}

static void run(struct work *work) __attribute__((noreturn));

static void run(struct work *work)
{
	char *names = stressors(work->variant);
	char *cpu = text_format("%d", work->slot->cpu);
	char *yaml = text_format("%s/cpu%s.yaml", work->scratch, cpu);

	if (!names)
		work_fail(work, "stress-ng has no class \"%s\" any more", work->variant);
	work_ready(work);
	for (;;) {
		uint64_t before = work->slot->operations;

		for (char *at = names; *at;) {
			size_t length = strcspn(at, " \n");
			char *name = text_format("%.*s", (int)length, at);

			stress(work, name, cpu, yaml);
			free(name);
			at += length;
			at += strspn(at, " \n");
		}
		if (work->slot->operations == before)
			work_fail(work, "no stressor of stress-ng's class %s runs here",
				  work->variant);
	}
}

const struct work_type work_stress = {
	.type = {
		.name = "stress",
		.variants = "CLASS",
		.about = "the stressors of a class of stress-ng, one after another",
		.operation = "bogo operations",
	},
	.files = true,
	.judges = true,
	.missing = missing,
	.settle = settle,
	.run = run,
};

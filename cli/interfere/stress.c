// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stressors of stress-ng: one, or all of a class one after another, for a second each, on
 * each CPU its own.  What it calls bogo operations is counted.
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

static char *ask(const char *option, const char *word)
{
	return program_said((const char *const []){ PROGRAM, option, word, NULL });
}

/* What it says behind @words when it is asked for the class @name; NULL: nothing.  To be freed. */
static char *class_said(const char *name, const char *words)
{
	char *question = text_format("%s?", name), *said = ask("--class", question), *rest = NULL;
	const char *at = said ? strstr(said, words) : NULL;

	if (at)
		rest = text_format("%.*s", (int)strcspn(at + strlen(words), "\n"),
				   at + strlen(words));
	free(said);
	free(question);
	return rest;
}

/* The stressors that @name is: those of a class, or that one; NULL: none.  To be freed. */
static char *stressors(const char *name)
{
	char *names = class_said(name, "stressors: "), *all;

	if (names)
		return names;
	all = ask("--stressors", NULL);
	if (all && text_has_word(all, name))
		names = text_format("%s", name);
	free(all);
	return names;
}

static char *missing(const char *variant)
{
	char *names, *classes, *why = NULL;

	if (!program_exists(PROGRAM))
		return text_format("stress-ng is not installed: apt install stress-ng");
	if (!*variant)
		return text_format("which?  stress:sock, or a class as stress:network: stress-ng --stressors");
	/* It would take another word for an option of its own. */
	names = variant[strspn(variant, "abcdefghijklmnopqrstuvwxyz0123456789-")] || *variant == '-' ?
		NULL : stressors(variant);
	if (!names) {
		classes = class_said("no-such-class", "available classes: ");
		why = text_format("stress-ng has no class or stressor \"%s\"; its classes are %s, its stressors what stress-ng --stressors shows",
				  variant, classes ? classes : "not known");
		free(classes);
	}
	free(names);
	return why;
}

static int settle(struct work *work)
{
	work->words = text_format("stress-ng's %s, a second for each stressor", work->variant);
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
		"--no-rand-seed", NULL }, said);
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
		work_fail(work, "stress-ng has no \"%s\" any more", work->variant);
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
			work_fail(work, "none of stress-ng's %s runs here, for this user",
				  work->variant);
	}
}

const struct work_type work_stress = {
	.type = {
		.name = "stress",
		.variants = "CLASS|STRESSOR",
		.about = "stress-ng: one of its stressors, or those of a class one after another",
		.operation = "bogo operations",
	},
	.files = true,
	.judges = true,
	.missing = missing,
	.settle = settle,
	.run = run,
};

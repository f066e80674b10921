// SPDX-License-Identifier: GPL-2.0-or-later
/* One option has one name, letter, type, argument and unit in all commands. */
int isolator_main(int argc, char **argv);
#define main isolator_main
#include "main.c"
#undef main

#include <stdlib.h>

#include "base/text.h"
#include "check.h"
#include "options/near.h"
#include "options/value.h"

/* The letters that there are, each with its option. */
static const struct {
	char letter;
	const char *name;
} letters[] = {
	{ 'h', "help" }, { 'V', "version" }, { 'c', "cpu" }, { 't', "time" }, { 'n', "count" },
	{ 'i', "interval" }, { 'o', "output" }, { 'v', "verbose" }, { 'z', "zeros" },
};

#define FOR_EACH(command, spec) \
	for (size_t command##_at = 0; (command = table(command##_at)); command##_at++) \
		for (spec = command->options; spec->name; spec++)

/* The program's own table comes first. */
static const struct command *table(size_t i)
{
	return i ? subcommands[i - 1] : &program;
}

/* What differs between the tables, or NULL. */
static const char *difference(const struct option_spec *a, const struct option_spec *b)
{
	if (a->letter != b->letter)
		return "letter";
	if (a->type != b->type)
		return "type";
	/* The words that can be chosen are the command's own. */
	if (a->type != OPTION_WORD && a->argument != b->argument &&
	    (!a->argument || !b->argument || strcmp(a->argument, b->argument)))
		return "argument";
	if (a->type == OPTION_TIME && strcmp(a->unit, b->unit))
		return "unit";
	return NULL;
}

static void test_one_name(void)
{
	const struct command *one, *other;
	const struct option_spec *a, *b;

	FOR_EACH(one, a) {
		FOR_EACH(other, b) {
			const char *what = strcmp(a->name, b->name) ? NULL : difference(a, b);

			if (what)
				printf("# --%s of %s and of %s: %s\n", a->name, one->name,
				       other->name, what);
			CHECK(!what);
		}
	}
}

static void test_letters(void)
{
	const struct command *command;
	const struct option_spec *spec;

	FOR_EACH(command, spec) {
		const char *name = NULL;

		for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++) {
			/* Who has the name has the letter. */
			if (!strcmp(letters[i].name, spec->name))
				CHECK(spec->letter == letters[i].letter);
			if (spec->letter == letters[i].letter)
				name = letters[i].name;
		}
		if (spec->letter)
			CHECK_TEXT(name, spec->name);
	}
}

/* Arguments that all options of a type have. */
static void test_arguments(void)
{
	static const char *const names[] = {
		[OPTION_NUMBER] = "N PID", [OPTION_TIME] = "TIME TIME|never", [OPTION_CPUS] = "CPUS",
		[OPTION_INPUT] = "FILE", [OPTION_OUTPUT] = "FILE",
		[OPTION_USER] = "NAME", [OPTION_DIRECTORY] = "DIR",
	};
	const struct command *command;
	const struct option_spec *spec;

	FOR_EACH(command, spec) {
		const char *allowed = spec->type < sizeof(names) / sizeof(*names) ?
			names[spec->type] : NULL;

		if (allowed && !strstr(allowed, spec->argument))
			printf("# %s --%s %s\n", command->name, spec->name, spec->argument);
		CHECK(!allowed || strstr(allowed, spec->argument));
		CHECK(!spec->argument == (spec->type == OPTION_HELP ||
					  spec->type == OPTION_HELP_ALL ||
					  spec->type == OPTION_FLAG));
		CHECK((spec->type == OPTION_TIME) == !!spec->unit);
	}
}

/* Only a table with rare options has --help-all; kinds stand side by side, for completion. */
static void test_tables(void)
{
	const struct command *command;

	for (size_t i = 0; (command = table(i)); i++) {
		bool rare = false, all = false;

		for (const struct option_spec *spec = command->options; spec->name; spec++) {
			const struct option_spec *next = spec + 1;

			rare |= spec->rare && spec->type != OPTION_HELP_ALL && spec->about;
			all |= spec->type == OPTION_HELP_ALL;
			while (next->name && !strcmp(next->name, spec->name))
				next++;
			for (; next->name; next++)
				CHECK(strcmp(next->name, spec->name));
		}
		if (rare != all)
			printf("# %s\n", command->name);
		CHECK(rare == all);
	}
}

static void check_time(const char *text, const char *unit, uint64_t want)
{
	uint64_t ns = UINT64_MAX;

	CHECK(value_time(text, unit, &ns) == (want != UINT64_MAX));
	CHECK(ns == want);
}

static void test_times(void)
{
	check_time("10", "us", 10000);
	check_time("10us", "s", 10000);
	check_time("1.5 ms", "s", 1500000);
	check_time("0", "us", 0);
	check_time("2h", "us", UINT64_C(7200000000000));
	check_time("10", "", UINT64_MAX);
	check_time("", "s", UINT64_MAX);
	check_time("-1", "s", UINT64_MAX);
	check_time("1e3", "s", UINT64_MAX);
	check_time("nan", "s", UINT64_MAX);
	check_time("0.5ns", "s", UINT64_MAX);
	check_time("1000000001", "s", UINT64_MAX);
	check_time("1d", "s", UINT64_MAX);
}

static const char *nearest(const char *typed)
{
	struct near near = { .typed = typed };

	for (const struct command *const *c = subcommands; *c; c++)
		near_add(&near, (*c)->name);
	return near.best;
}

static void test_near(void)
{
	CHECK_TEXT(nearest("stats"), "status");
	CHECK_TEXT(nearest("staust"), "status");
	CHECK_TEXT(nearest("mesure"), "measure");
	CHECK_TEXT(nearest("wath"), "watch");
	CHECK(!nearest("bogus"));
	CHECK(!nearest("x"));
	CHECK(!nearest("a-word-that-is-longer-than-any-name-of-a-command"));
}

int main(void)
{
	static const struct test tests[] = {
		{ "one name, one option", test_one_name },
		{ "letters", test_letters },
		{ "names of arguments", test_arguments },
		{ "rare options and kinds", test_tables },
		{ "times with and without units", test_times },
		{ "what somebody may have meant", test_near },
	};

	return check_run(tests, sizeof(tests) / sizeof(*tests));
}

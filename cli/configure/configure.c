// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator configure: what /etc/isolator.conf allows, given to the kernel and read back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/error.h"
#include "base/json.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/term.h"
#include "base/text.h"
#include "configure/rules.h"
#include "journal/change.h"
#include "journal/store.h"
#include "machine/kernels.h"
#include "options/command.h"
#include "proc/proc.h"

#define SCHEMA_VERSION 1

static struct {
	bool check, show, clear, force, json;
	const char *file;
	const char *root;
} options = {
	.file = RULES_FILE,
	.root = "/",
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "check", 0, OPTION_FLAG, NULL, "only check the file; change nothing",
	  .to.flag = &options.check },
	{ "show", 0, OPTION_FLAG, NULL, "compare the file with what the kernel has; change nothing",
	  .to.flag = &options.show },
	{ "clear", 0, OPTION_FLAG, NULL, "allow no CPU, as at boot, and end any isolation; the file is not read",
	  .to.flag = &options.clear },
	{ "force", 0, OPTION_FLAG, NULL, "end the isolation of CPUs that the file no longer allows",
	  .to.flag = &options.force },
	{ "file", 0, OPTION_INPUT, "FILE", "read FILE instead of /etc/isolator.conf; - is standard input",
	  .to.text = &options.file },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object (schema isolator.configure, version 1)",
	  .to.flag = &options.json },
	{ "root", 0, OPTION_FILE, "DIR", NULL, .to.text = &options.root },
	{ 0 },
};

struct configuration {
	struct rules wanted;
	bool kernel;		/* it has Isolator; before and now are of it */
	struct rules before, now;
};

static const char *mode(void)
{
	return options.check ? "check" : options.show ? "show" : options.clear ? "clear" : "apply";
}

static bool agrees(const struct configuration *c)
{
	for (enum rule rule = 0; rule < RULES; rule++)
		if (!rules_same(&c->wanted, &c->now, rule))
			return false;
	return true;
}

static void json_rule(struct json *json, const char *key, const struct rules *rules,
		      enum rule rule, bool known)
{
	char *text = known ? rules_text(rules, rule) : NULL;

	json_string(json, key, text);
	free(text);
}

static void put_json(const struct configuration *c)
{
	struct json json = { .out = stdout };
	struct utsname kernel = { 0 };

	uname(&kernel);
	json_document(&json, "isolator.configure", SCHEMA_VERSION);
	json_string(&json, "kernel", kernel.release);
	json_bool(&json, "isolator", c->kernel);
	json_string(&json, "mode", mode());
	json_string(&json, "file", options.clear ? NULL : options.file);
	json_open(&json, "settings", '[');
	for (enum rule rule = 0; rule < RULES; rule++) {
		json_open(&json, NULL, '{');
		json_string(&json, "name", rule_names[rule]);
		json_number_if(&json, "line", c->wanted.line[rule], c->wanted.line[rule]);
		json_rule(&json, "wanted", &c->wanted, rule, true);
		json_rule(&json, "before", &c->before, rule, c->kernel);
		json_rule(&json, "now", &c->now, rule, c->kernel);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_document_end(&json);
}

/* As people read it: times with a unit. */
static char *words(const struct rules *rules, enum rule rule)
{
	char time[TERM_TIME];

	if (rule == RULE_DEADLINE || rule == RULE_SPIN)
		return text_format("%s", term_time(time, rule == RULE_SPIN ? rules->spin_ns :
						   rules->deadline_ns));
	return rules_text(rules, rule);
}

static void put_text(const struct configuration *c)
{
	for (enum rule rule = 0; rule < RULES; rule++) {
		char *wanted = words(&c->wanted, rule), *before = words(&c->before, rule);

		printf("%-9s %-8s", rule_names[rule], wanted);
		if (c->wanted.line[rule])
			printf("  line %u", c->wanted.line[rule]);
		else
			fputs("  the kernel's own", stdout);
		if (c->kernel && !rules_same(&c->wanted, &c->before, rule))
			printf(options.show ? "; the kernel has %s" : "; it was %s", before);
		putchar('\n');
		free(before);
		free(wanted);
	}
}

/* CPUs that are isolated and would not be allowed any more: 0, or -1, said why. */
static int check_isolated(const struct configuration *c)
{
	struct proc_sample sample;
	struct cpulist isolated;
	int error = 0;

	if (proc_read_below(options.root, false, &sample))
		return -1;
	if (cpulist_read(sample.isolated, &isolated) &&
	    !cpulist_within(&isolated, &c->wanted.cpus))
		error = -error_say("the file does not allow all of the isolated CPUs %s: end that isolation first (isolator status says whose it is), or use --force",
				   sample.isolated);
	proc_free(&sample);
	return error;
}

/* What was changed so far goes back. */
static void undo(struct configuration *c, enum rule end)
{
	for (enum rule rule = 0; rule < end; rule++)
		if (!rules_same(&c->wanted, &c->before, rule) &&
		    rules_set(&c->before, rule, options.root))
			error_say("%s could not be restored: run isolator configure once more",
				  rule_names[rule]);
}

/* With the directory of the journals locked. */
static int give(struct configuration *c, int journals)
{
	for (enum rule rule = 0; rule < RULES; rule++) {
		int error = rules_same(&c->wanted, &c->before, rule) ? 0 :
			rules_set(&c->wanted, rule, options.root);

		if (!error)
			continue;
		error_say("%s: the kernel refuses it: %s%s; nothing was changed", rule_names[rule],
			  strerror(error), error == EPERM || error == EACCES ? ": run it as root" : "");
		undo(c, rule);
		return -1;
	}
	if (rules_kernel(&c->now, options.root)) {
		undo(c, RULES);
		return -1;
	}
	/* Whoever has added a CPU for a while takes it out again, but for those. */
	if (agrees(c) && !journal_allowed(options.root, journals, PROC_DIRECTORY "/cpus",
					  &c->wanted.cpus))
		return 0;
	for (enum rule rule = 0; rule < RULES; rule++) {
		char *wanted = words(&c->wanted, rule), *now = words(&c->now, rule);

		if (!rules_same(&c->wanted, &c->now, rule))
			error_say("%s: the kernel took %s, but has %s: all changes are undone", rule_names[rule],
				  wanted, now);
		free(now);
		free(wanted);
	}
	undo(c, RULES);
	return -1;
}

/* Nobody adds a CPU meanwhile, or takes one out that the file allows. */
static int apply(struct configuration *c)
{
	int journals = store_lock(options.root, STORE_PATH, true, true), error;

	if (journals < 0)
		return -1;
	error = give(c, journals);
	store_close(options.root, STORE_PATH, journals);
	return error;
}

/* Whether the kernel is to be asked or told; false with the exit code. */
static bool meet_kernel(struct configuration *c, int *code)
{
	char *cpus = setting_read(options.root, PROC_DIRECTORY "/cpus");

	*code = EXIT_PASS;
	if (!cpus && errno == ENOENT) {
		if (options.check)
			return false;
		kernels_say(options.root, options.show ? "nothing was compared" :
			    "nothing was applied");
		*code = EXIT_SKIPPED;
		return false;
	}
	free(cpus);
	*code = EXIT_ERROR;
	if (rules_kernel(&c->before, options.root))
		return false;
	c->now = c->before;
	c->kernel = true;
	return true;
}

static int run(int argc, char **argv)
{
	struct configuration c = { 0 };
	int code;

	(void)argc;
	(void)argv;
	if (options.check + options.show + options.clear > 1)
		return error_say("--check, --show and --clear: give at most one of them");
	if (!options.check && !options.show && !root_trusted(options.root)) {
		root_refuse(options.root);
		return EXIT_ERROR;
	}
	if (options.clear)
		rules_default(&c.wanted);
	else if (rules_read(&c.wanted, options.root, options.file))
		return EXIT_ERROR;
	if (meet_kernel(&c, &code)) {
		code = EXIT_PASS;
		if (options.show)
			code = agrees(&c) ? EXIT_PASS : EXIT_EXCEEDED;
		else if (!options.check &&
			 ((!options.force && !options.clear && check_isolated(&c)) || apply(&c)))
			return EXIT_ERROR;
	}
	if (code == EXIT_ERROR)
		return code;
	if (options.json)
		put_json(&c);
	else if (code != EXIT_SKIPPED || options.show)
		put_text(&c);
	return code;
}

const struct command configure_command = {
	.name = "configure",
	.summary = "give the kernel the limits of /etc/isolator.conf, or check them",
	.about = "Reads from /etc/isolator.conf (isolator.conf(5)) which CPUs may be isolated, and within which limits, checks every line, gives it to the kernel and reads it back. If the kernel refuses a line, all changes are undone. isolator.service does this at boot. On a kernel without Isolator it says so, names an installed kernel that has it, and changes nothing.",
	.options = specs,
	.examples = (const char *const []){
		"isolator configure --check", "check the file",
		"sudo isolator configure", "apply the file",
		"isolator configure --show", "check whether the kernel has what the file says",
		NULL,
	},
	.exits = (const char *const []){
		"0", "done; the file is correct (--check); the kernel has what it says (--show)",
		"1", "an error, which says what to do about it; nothing was changed",
		"2", "the kernel differs from the file (--show)",
		"77", "skipped: the running kernel has no Isolator",
		NULL,
	},
	.schema = "isolator.configure",
	.json = &options.json,
	.run = run,
};

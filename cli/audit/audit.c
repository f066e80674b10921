// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator audit: is this machine fit to isolate CPUs? */
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/boot.h"
#include "base/error.h"
#include "base/root.h"
#include "base/term.h"
#include "machine/bundle.h"
#include "options/command.h"

static struct {
	struct cpulist cpus;
	bool fix, boot;
	const char *output;	/* NULL: not given */
	const char *root;
	unsigned int least;	/* enum audit_severity */
	bool json;
} options = {
	.root = "/",
	.least = AUDIT_WARNING,
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	OPTION_HELP_ALL_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "CPUS", "the CPUs to isolate, such as 1 or 1,3-5 (default: those allowed in /proc/isolator/cpus, else nohz_full or isolcpus, else all except the first)",
	  .to.cpus = &options.cpus },
	{ "fix", 0, OPTION_FLAG, NULL, "change what can be changed now, check it, and note the old values for isolator restore",
	  .to.flag = &options.fix },
	{ "boot", 0, OPTION_FLAG, NULL, "with --fix: also write boot parameters for GRUB on Debian, for the next boot; isolator restore undoes them",
	  .to.flag = &options.boot },
	{ "update-grub", 0, OPTION_FILE, "PROGRAM", NULL, .to.text = &boot_updater },
	{ "output", 'o', OPTION_OUTPUT, "FILE", "save all that was read to FILE, a tar archive, to analyse it elsewhere; - is standard output, with no report",
	  .to.text = &options.output },
	{ "root", 0, OPTION_FILE, "DIR", "judge the machine whose files are in DIR, or in an archive of -o (default /)",
	  .to.text = &options.root, .rare = true },
	{ "severity", 0, OPTION_WORD, "info|warning|error", "the lowest severity that makes audit fail, and that --fix changes (default warning)",
	  .to.number = &options.least },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object (schema isolator.audit, version 1)",
	  .to.flag = &options.json },
	{ 0 },
};

static bool to_stdout(void)
{
	return options.output && !strcmp(options.output, OPTION_STDIO);
}

static int report(struct audit *audit)
{
	struct boot boot;
	struct audit_view view = {
		.audit = audit,
		.boot = &boot,
		.least = (enum audit_severity)options.least,
		.fixing = options.fix,
		.colours = term_colours(stdout),
	};
	int error = 0;

	/* What was found, not what was made of it. */
	boot_plan(&boot, audit, view.least);
	if (options.output && (to_stdout() ? bundle_print(audit->capture) :
			       bundle_write(audit->capture, options.output))) {
		boot_free(&boot);
		return EXIT_ERROR;
	}
	if (options.fix)
		error = audit_fix(audit, view.least);
	if (options.boot && !error)
		error = boot_apply(&boot, audit, view.least);
	if (options.json)
		audit_json(stdout, &view);
	else if (!to_stdout())
		audit_text(stdout, &view);
	boot_free(&boot);
	if (error)
		return EXIT_ERROR;
	if (audit_open(audit, view.least))
		return EXIT_EXCEEDED;
	return audit->judged ? EXIT_PASS : EXIT_INCONCLUSIVE;
}

static int run(int argc, char **argv)
{
	struct capture capture;
	struct audit audit;
	int code;

	(void)argc;
	(void)argv;
	if (options.boot && !options.fix)
		return error_say("--boot needs --fix; without --fix audit shows what it would write");
	if (options.json && to_stdout())
		return error_say("--json goes to standard output: name a file for --output");
	if (capture_open(&capture, options.root))
		return EXIT_ERROR;
	if (options.fix && capture.kind == CAPTURE_BUNDLE) {
		code = error_say("--fix changes a machine or a directory, not the archive %s",
				 options.root);
	} else if (options.fix && !root_trusted(options.root)) {
		root_refuse(options.root);
		code = EXIT_ERROR;
	} else {
		switch (audit_run(&audit, &capture, &options.cpus, NULL)) {
		case 0:
			code = report(&audit);
			audit_free(&audit);
			break;
		case 1:
			code = EXIT_INCONCLUSIVE;
			break;
		default:
			code = EXIT_ERROR;
		}
	}
	capture_free(&capture);
	return code;
}

const struct command audit_command = {
	.name = "audit",
	.summary = "check whether this machine can isolate CPUs, and what to change",
	.about = "Checks the kernel, how it was built and booted, clocks, power management, interrupts, scheduling, memory management and tracing. For each thing that disturbs an isolated CPU it says where it was read, why it matters, how to fix it, and how to undo that. On a kernel with Isolator, what Isolator keeps away is only a note.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator audit -c 3", "check whether CPU 3 of this machine is suitable",
		"sudo isolator audit -c 3 --fix", "the same, and fix what can be fixed now",
		"sudo isolator audit -o audit.tar", "save what was read, for a report",
		"sudo isolator audit -c 1-3 --fix --boot", "also set boot parameters such as isolcpus",
		"isolator audit --root audit.tar", "analyse that archive on any machine",
		"isolator audit --json --severity error", "for a program that needs errors only",
		NULL,
	},
	.exits = (const char *const []){
		"0", "suitable: no finding of --severity or worse, or all are fixed",
		"1", "an error, which says what to do about it",
		"2", "findings of --severity or worse, which are not fixed",
		"3", "inconclusive: there was nothing to judge",
		NULL,
	},
	.run = run,
};

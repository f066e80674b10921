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
	const char *save;	/* NULL: not given */
	const char *root;
	unsigned int least;	/* enum audit_severity */
	bool json;
} options = {
	.root = "/",
	.least = AUDIT_WARNING,
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "LIST", "the CPUs to be isolated, such as 1 or 1,3-5 (default: those allowed in /proc/isolator/cpus, else those of nohz_full or isolcpus, else all but the first)",
	  { .cpus = &options.cpus }, 0 },
	{ "fix", 0, OPTION_FLAG, NULL, "apply what can be applied at run time, look whether it holds, and note the old values in /run/isolator/journal",
	  { .flag = &options.fix }, 0 },
	{ "boot", 0, OPTION_FLAG, NULL, "with --fix: write boot parameters too, for GRUB on Debian; they take effect at the next boot, and isolator restore undoes them",
	  { .flag = &options.boot }, 0 },
	{ "update-grub", 0, OPTION_FILE, "PROGRAM", NULL, { .text = &boot_updater }, 0 },
	{ "save", 0, OPTION_FILE, "FILE", "put all that was read into FILE, a tar archive, to be judged elsewhere or attached to a report",
	  { .text = &options.save }, 0 },
	{ "root", 0, OPTION_FILE, "DIR", "judge the machine whose files are in DIR, or a file that --save wrote (default /)",
	  { .text = &options.root }, 0 },
	{ "severity", 0, OPTION_WORD, "info|warning|error", "from where on a finding decides the exit code, and is applied by --fix (default warning)",
	  { .number = &options.least }, 0 },
	{ "json", 0, OPTION_FLAG, NULL, "one JSON object (schema isolator.audit, version 1)",
	  { .flag = &options.json }, 0 },
	{ 0 },
};

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
	if (options.save && bundle_write(audit->capture, options.save)) {
		boot_free(&boot);
		return EXIT_ERROR;
	}
	if (options.fix)
		error = audit_fix(audit, view.least);
	if (options.boot && !error)
		error = boot_apply(&boot, audit, view.least);
	if (options.json)
		audit_json(stdout, &view);
	else
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
		return error_say("--boot needs --fix; without both, audit shows what --fix --boot would write");
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
	.summary = "is this machine fit to isolate CPUs, and what to change",
	.about = "Checks the kernel, its build options and boot parameters, clocks, power management, interrupts, scheduling, memory management and tracing. For each setting that will disturb an isolated CPU it shows where the setting is, why it matters, what fixes it and what undoes the fix. On a kernel with Isolator, what Isolator keeps away is only a note.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator audit -c 3", "is CPU 3 of this machine fit?",
		"sudo isolator audit -c 3 --fix", "the same, and fix what can be fixed now",
		"sudo isolator audit --save audit.tar", "save its input, and nothing else, for a report",
		"sudo isolator audit -c 1-3 --fix --boot", "also isolcpus and the like, from the next boot on",
		"isolator audit --root audit.tar", "audit that, on any machine",
		"isolator audit --json --severity error", "for a program that acts on errors only",
		NULL,
	},
	.exits = (const char *const []){
		"0", "fit: nothing of --severity or worse was found, or all of it is fixed",
		"1", "an error, which says what to do about it",
		"2", "something of --severity or worse was found, and is not fixed",
		"3", "inconclusive: no file was readable",
		NULL,
	},
	.run = run,
};

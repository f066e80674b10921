// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator export: what the kernel says of isolated CPUs, for a fleet's monitoring. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/error.h"
#include "base/live.h"
#include "base/wait.h"
#include "export/metrics.h"
#include "export/textfile.h"
#include "options/command.h"
#include "proc/proc.h"

#define STDOUT "-"

static struct {
	struct metrics_wish wish;
	const char *output;
	uint64_t interval_ns;	/* 0: not given */
	bool no_names;
} options = {
	.wish = { .root = "/", .top = 10 },
	.output = STDOUT,
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "output", 'o', OPTION_FILE, "FILE", "write to FILE, whole or not at all, for the textfile collector of node_exporter; - is standard output (default)",
	  { .text = &options.output }, 0 },
	{ "interval", 'i', OPTION_SECONDS, "SEC", "with --output FILE: write again every SEC seconds, until a signal ends it",
	  { .ns = &options.interval_ns }, 0 },
	{ "top", 0, OPTION_NUMBER, "N", "at most N senders and N callbacks of each CPU have series of their own, 0 for all (default 10)",
	  { .number = &options.wish.top }, 0 },
	{ "no-names", 0, OPTION_FLAG, NULL, "no senders, callbacks and names of owners, also if this user sees them",
	  { .flag = &options.no_names }, 0 },
	{ "proc", 0, OPTION_DIRECTORY, "DIR", "read the files in DIR instead of /proc/isolator",
	  { .text = &options.wish.directory }, 0 },
	/* Whose /proc it is, and whose processes. */
	{ "root", 0, OPTION_DIRECTORY, "DIR", NULL, { .text = &options.wish.root }, 0 },
	{ 0 },
};

static bool to_stdout(void)
{
	return !strcmp(options.output, STDOUT);
}

static int print(void)
{
	size_t size;
	char *text;

	if (metrics_text(&options.wish, &text, &size))
		return EXIT_ERROR;
	fwrite(text, 1, size, stdout);	/* main() says what went wrong */
	free(text);
	return EXIT_PASS;
}

static int write_textfile(void)
{
	uint64_t next;
	int error;

	/* A signal waits until the file is whole, and nothing lies beside it. */
	wait_prepare();
	next = wait_clock_ns();
	do {
		size_t size;
		char *text;

		error = metrics_text(&options.wish, &text, &size);
		if (!error) {
			error = textfile_write(options.output, text, size);
			free(text);
		}
		next = live_next(next, options.interval_ns);
	} while (!error && options.interval_ns && wait_until(next));
	return error ? EXIT_ERROR : EXIT_PASS;
}

/* 0, or -1, said why. */
static int check(void)
{
	const char *wrong = NULL;

	if (!*options.output)
		wrong = "--output wants the name of a file, such as isolator.prom, or - for standard output";
	else if (options.interval_ns && to_stdout())
		wrong = "--interval is for --output FILE: standard output is written once";
	if (!wrong)
		return 0;
	error_say("%s", wrong);
	return -1;
}

static int run(int argc, char **argv)
{
	struct utsname kernel = { 0 };
	int available;

	(void)argc;
	(void)argv;
	if (check())
		return EXIT_ERROR;
	options.wish.names = !options.no_names;
	available = metrics_available(&options.wish);
	if (available < 0)
		return EXIT_ERROR;
	uname(&kernel);
	if (!available)
		error_say("the running kernel, %s, has no Isolator (no " PROC_DIRECTORY "): isolator_available is 0, and there is little else",
			  kernel.release);
	return to_stdout() ? print() : write_textfile();
}

const struct command export_command = {
	.name = "export",
	.summary = "metrics of isolated CPUs, as node_exporter reads them from a file",
	.about = "Writes what the kernel counts of each CPU that is or was isolated as metrics: requests deferred, held, breached and so on, the longest spin, whose the isolation is, and the worst callbacks and senders by name, which are for root. It is the text of Prometheus that node_exporter reads from a file. On a kernel without Isolator isolator_available is 0.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator export", "once, to look at",
		"sudo isolator export -o /var/lib/prometheus/node-exporter/isolator.prom -i 15",
		"for a node_exporter, four times a minute",
		NULL,
	},
	.exits = (const char *const []){
		"0", "it was written, also of a kernel without Isolator; or a signal ended it",
		"1", "an error, which says what to do about it",
		NULL,
	},
	.run = run,
};

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

static struct {
	struct metrics_wish wish;
	const char *output;
	uint64_t interval_ns;	/* 0: not given */
	bool no_names;
} options = {
	.wish = { .root = "/", .top = 10 },
	.output = OPTION_STDIO,
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	OPTION_HELP_ALL_SPEC,
	{ "output", 'o', OPTION_OUTPUT, "FILE", "write to FILE, whole or not at all, for the textfile collector of node_exporter; - is standard output (default)",
	  .to.text = &options.output },
	{ "interval", 'i', OPTION_TIME, "TIME", "with -o FILE: write again after each TIME, until a signal ends it",
	  .to.ns = &options.interval_ns, .unit = "s" },
	{ "top", 0, OPTION_NUMBER, "N", "export at most N senders and N callbacks of each CPU, 0 for all (default 10)",
	  .to.number = &options.wish.top },
	{ "no-names", 0, OPTION_FLAG, NULL, "leave out senders, callbacks and names of owners",
	  .to.flag = &options.no_names },
	{ "proc", 0, OPTION_DIRECTORY, "DIR", "read the files in DIR instead of /proc/isolator",
	  .to.text = &options.wish.directory, .rare = true },
	/* Whose /proc it is, and whose processes. */
	{ "root", 0, OPTION_FILE, "DIR", NULL, .to.text = &options.wish.root },
	{ 0 },
};

static bool to_stdout(void)
{
	return !strcmp(options.output, OPTION_STDIO);
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

static int run(int argc, char **argv)
{
	struct utsname kernel = { 0 };
	int available;

	(void)argc;
	(void)argv;
	if (options.interval_ns && to_stdout())
		return error_say("--interval needs --output FILE: standard output is written once");
	options.wish.names = !options.no_names;
	available = metrics_available(&options.wish);
	if (available < 0)
		return EXIT_ERROR;
	uname(&kernel);
	if (!available)
		error_say("the running kernel, %s, has no Isolator (no " PROC_DIRECTORY "): isolator_available is 0, and few other metrics are exported",
			  kernel.release);
	return to_stdout() ? print() : write_textfile();
}

const struct command export_command = {
	.name = "export",
	.summary = "export metrics of isolated CPUs to a file for node_exporter",
	.about = "Writes what the kernel counts for each CPU that is or was isolated, in the text format of Prometheus, which node_exporter reads from a file: requests deferred, queued, missed and so on, the longest spin, who owns the isolation, and the worst callbacks and senders by name (root only). On a kernel without Isolator the metric isolator_available is 0.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator export", "print them once",
		"sudo isolator export -o /var/lib/prometheus/node-exporter/isolator.prom -i 15s",
		"write them for node_exporter, four times a minute",
		NULL,
	},
	.exits = (const char *const []){
		"0", "written, also on a kernel without Isolator; or a signal ended it",
		"1", "an error, which says what to do about it",
		NULL,
	},
	.run = run,
};

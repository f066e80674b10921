// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator export: what the kernel says of isolated CPUs, for a fleet's monitoring. */
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/live.h"
#include "base/wait.h"
#include "export/listen.h"
#include "export/metrics.h"
#include "export/serve.h"
#include "export/textfile.h"
#include "options/command.h"
#include "proc/proc.h"

#define UNSAID 2U	/* behind the formats */

static struct {
	struct metrics_wish wish;
	unsigned int format;
	const char *textfile, *socket;
	uint64_t interval_ns;	/* 0: not given */
	bool remote, no_names;
} options = {
	.wish = { .root = "/", .top = 10 },
	.format = UNSAID,
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "textfile", 0, OPTION_FILE, "FILE", "write to FILE, whole or not at all, for the textfile collector of node_exporter",
	  { .text = &options.textfile }, 0 },
	{ "interval", 0, OPTION_SECONDS, "SEC", "with --textfile: write again every SEC seconds, until a signal ends it",
	  { .ns = &options.interval_ns }, 0 },
	{ "socket", 0, OPTION_FILE, "ADDRESS", "answer GET /metrics at a path with a slash (a socket that curl --unix-socket asks), 127.0.0.1:PORT or [::1]:PORT, until a signal ends it",
	  { .text = &options.socket }, 0 },
	{ "remote", 0, OPTION_FLAG, NULL, "with --socket: another address of this machine may be given; whoever reaches it may read",
	  { .flag = &options.remote }, 0 },
	{ "format", 0, OPTION_WORD, "openmetrics|prometheus", "which text (default: openmetrics; for --textfile prometheus; for --socket what the request accepts)",
	  { .number = &options.format }, 0 },
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

static int make(enum exposition_format format, char **text, size_t *size)
{
	return metrics_text(&options.wish, format, text, size);
}

/* Once to standard output. */
static int print(void)
{
	size_t size;
	char *text;

	if (make(options.format == UNSAID ? EXPOSITION_OPENMETRICS : options.format, &text, &size))
		return EXIT_ERROR;
	fwrite(text, 1, size, stdout);	/* main() says what went wrong */
	free(text);
	return EXIT_PASS;
}

static int write_textfile(void)
{
	enum exposition_format format =
		options.format == UNSAID ? EXPOSITION_PROMETHEUS : options.format;
	uint64_t next;
	int error;

	/* A signal waits until the file is whole, and nothing lies beside it. */
	wait_prepare();
	next = wait_clock_ns();
	do {
		size_t size;
		char *text;

		error = make(format, &text, &size);
		if (!error) {
			error = textfile_write(options.textfile, text, size);
			free(text);
		}
		next = live_next(next, options.interval_ns);
	} while (!error && options.interval_ns && wait_until(next));
	return error ? EXIT_ERROR : EXIT_PASS;
}

static int answer(void)
{
	struct listener listener;

	wait_prepare();
	if (listen_open(&listener, options.socket, options.remote,
			options.wish.names && !geteuid()))
		return EXIT_ERROR;
	serve(listener.file, !listener.local, options.format == UNSAID ? ~0U : 1U << options.format, make);
	listen_close(&listener);
	return EXIT_PASS;
}

/* 0, or -1, said why. */
static int check(void)
{
	const char *wrong = NULL;

	if (options.textfile && options.socket)
		wrong = "--textfile and --socket are two ways out: start one for each";
	else if (options.textfile && !*options.textfile)
		wrong = "--textfile wants the name of a file, such as isolator.prom";
	else if (options.interval_ns && !options.textfile)
		wrong = "--interval is for --textfile; whoever asks a socket says how often";
	else if (options.remote && !options.socket)
		wrong = "--remote is for --socket";
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
	return options.socket ? answer() : options.textfile ? write_textfile() : print();
}

const struct command export_command = {
	.name = "export",
	.summary = "metrics of isolated CPUs for Prometheus, as OpenMetrics, once, to a file or at a socket",
	.about = "Writes what the kernel counts of each CPU that is or was isolated as metrics: requests deferred, held, breached and so on, the longest spin, whose the isolation is, and the worst callbacks and senders by name, which are for root. It goes to standard output, to a file for node_exporter, or answers scrapes at a socket. On a kernel without Isolator isolator_available is 0.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator export", "once, to look at",
		"sudo isolator export --textfile /var/lib/prometheus/node-exporter/isolator.prom --interval 15",
		"for a node_exporter that runs already",
		"sudo isolator export --socket 127.0.0.1:9971", "for a Prometheus on this machine, or a proxy",
		NULL,
	},
	.exits = (const char *const []){
		"0", "it was written, also of a kernel without Isolator; or a signal ended it",
		"1", "an error, which says what to do about it",
		NULL,
	},
	.run = run,
};

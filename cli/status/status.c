// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator status: which CPUs are isolated, whose they are, and what is kept away from them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/live.h"
#include "base/screen.h"
#include "base/term.h"
#include "base/wait.h"
#include "journal/journal.h"
#include "options/command.h"
#include "status/state.h"

static struct {
	struct cpulist only;
	bool live;
	uint64_t interval_ns;	/* 0: not given */
	unsigned int count;	/* 0: not given */
	unsigned int top;
	bool json;
	const char *directory;
	const char *root;
} options = {
	.top = 10,
	.directory = PROC_DIRECTORY,
	.root = "/",
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	OPTION_HELP_ALL_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "CPUS", "show only these CPUs, such as 1 or 1,3-5, also if their isolation has ended",
	  .to.cpus = &options.only },
	{ "live", 0, OPTION_FLAG, NULL, "show it again and again, until Ctrl-C; on the whole screen of a terminal",
	  .to.flag = &options.live },
	{ "interval", 'i', OPTION_TIME, "TIME", "with --live: time between two states (default 1s)",
	  .to.ns = &options.interval_ns, .unit = "s" },
	{ "count", 'n', OPTION_NUMBER, "N", "with --live: end after N states",
	  .to.number = &options.count, .min = 1 },
	{ "top", 0, OPTION_NUMBER, "N", "show at most N senders of each CPU, 0 for all (default 10); JSON always has all",
	  .to.number = &options.top },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object a line for each state (schema isolator.status, version 1)",
	  .to.flag = &options.json },
	{ "proc", 0, OPTION_DIRECTORY, "DIR", "read the files in DIR instead of /proc/isolator",
	  .to.text = &options.directory, .rare = true },
	/* Whose processes it looks through. */
	{ "root", 0, OPTION_FILE, "DIR", NULL, .to.text = &options.root },
	{ 0 },
};

static void draw(FILE *out, const void *view)
{
	state_screen(out, view);
}

/* Returns false if the command must end. */
static bool obey(int key, void *data)
{
	struct state_view *view = data;

	if (key == 'q' || key == SCREEN_CLOSED)
		return false;
	if (key == 'p')
		view->paused = !view->paused;
	else if (key == SCREEN_UP || key == 'k')
		view->selected = state_move(view, view->selected, -1);
	else if (key == SCREEN_DOWN || key == 'j')
		view->selected = state_move(view, view->selected, 1);
	else if (key >= '0' && key <= '9')
		view->selected = state_move(view, key - '0', 0);
	return true;
}

static void show(const struct state_view *view, bool screen)
{
	if (options.json) {
		state_json(stdout, view);
	} else if (screen) {
		live_show(draw, view);
	} else {
		if (view->before)
			putchar('\n');
		state_text(stdout, view);
	}
}

/* The next state, in the place of the one before the last; 0, or -1, said why. */
static int look(struct state_view *view, struct state states[2], unsigned int n)
{
	struct state *now = &states[n % 2];

	state_free(now);
	if (state_read(now, options.directory, options.root))
		return -1;
	view->now = now;
	view->before = n ? &states[(n + 1) % 2] : NULL;
	view->selected = state_move(view, view->selected, 0);
	return 0;
}

/* Looks @count times, or until a signal if it is 0.  Returns the exit code. */
static int look_on(struct state_view *view, struct state states[2], unsigned int count,
		   bool screen)
{
	int code = options.only.given ? EXIT_INCONCLUSIVE : EXIT_PASS;
	uint64_t next = wait_clock_ns();
	unsigned int n = 0;

	for (;;) {
		if (!view->paused) {
			if (look(view, states, n++))
				return EXIT_ERROR;
			/* What cannot be read is said before the screen is taken. */
			if (screen && n == 1 && screen_open())
				return EXIT_ERROR;
		}
		show(view, screen);
		/* A state is seen when it is read, by whoever reads a pipe too. */
		if (fflush(stdout))
			return EXIT_ERROR;	/* main() says why */
		if (state_any(view))
			code = EXIT_PASS;
		if (n == count)
			return code;
		next = live_next(next, options.interval_ns);
		if (!(screen ? live_attend(next, obey, draw, view) : wait_until(next)))
			return EXIT_PASS;
	}
}

static int run(int argc, char **argv)
{
	bool screen = options.live && !options.json && screen_possible();
	struct state states[2] = { 0 };
	struct state_view view = {
		.only = &options.only,
		.top = options.top,
		.colours = term_colours(stdout),
	};
	int code;

	(void)argc;
	(void)argv;
	if (!options.live && (options.interval_ns || options.count))
		return error_say("--interval and --count need --live");
	if (state_check(&options.only, options.directory, options.root))
		return EXIT_ERROR;
	if (!options.interval_ns)
		options.interval_ns = WAIT_SECOND;
	if (options.live)
		wait_prepare();
	code = look_on(&view, states, options.live ? options.count : 1, screen);
	if (screen)
		screen_close();
	/* Also where this kernel has no Isolator: a run changes settings on any. */
	if (!options.json)
		journal_put_killed(code == EXIT_ERROR ? stderr : stdout, options.root);
	state_free(&states[0]);
	state_free(&states[1]);
	return code;
}

const struct command status_command = {
	.name = "status",
	.summary = "show which CPUs are isolated, by whom, and what is kept away",
	.about = "Shows which CPUs may be isolated, which are, by whom and within which limits, and how often requests to each were deferred, excluded, queued, missed, immediate, refused and planned, the worst senders first. Where no CPU is allowed, or the kernel has no Isolator, it says what to do. Keys of --live: q quits, p pauses, up and down (k and j) or a digit choose a CPU.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator status", "show all CPUs, with the names of senders",
		"isolator status --live -i 0.2s", "show them five times a second, until q or Ctrl-C",
		"isolator status --live --json -i 5s >> log", "write a record every 5 seconds, until Ctrl-C",
		NULL,
	},
	.exits = (const char *const []){
		"0", "shown, or ended by Ctrl-C",
		"1", "an error, which says what to do about it",
		"3", "inconclusive: none of the CPUs of --cpu is isolated",
		NULL,
	},
	.schema = "isolator.status",
	.json = &options.json,
	.run = run,
};

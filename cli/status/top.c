// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator top: the isolated CPUs on a whole screen, one of them with its senders. */
#include <stdlib.h>

#include "base/error.h"
#include "base/live.h"
#include "base/screen.h"
#include "base/term.h"
#include "base/wait.h"
#include "options/command.h"
#include "status/top.h"


static struct {
	uint64_t interval_ns;
	const char *directory;
} options = {
	.interval_ns = WAIT_SECOND,
	.directory = PROC_DIRECTORY,
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "interval", 0, OPTION_SECONDS, "SEC", "the time between samples, in seconds (default 1)",
	  { .ns = &options.interval_ns }, 0 },
	{ "proc", 0, OPTION_DIRECTORY, "DIR", "read the files in DIR instead of /proc/isolator",
	  { .text = &options.directory }, 0 },
	{ 0 },
};

static void draw(FILE *out, const void *view)
{
	top_text(out, view);
}

/* False: it shall end. */
static bool obey(int key, void *data)
{
	struct top_view *view = data;

	if (key == 'q' || key == SCREEN_CLOSED)
		return false;
	if (key == 'p')
		view->paused = !view->paused;
	else if (key == SCREEN_UP || key == 'k')
		view->selected = top_move(view->stat.now, view->selected, -1);
	else if (key == SCREEN_DOWN || key == 'j')
		view->selected = top_move(view->stat.now, view->selected, 1);
	else if (key >= '0' && key <= '9')
		view->selected = top_move(view->stat.now, key - '0', 0);
	return true;
}

static int watch(void)
{
	struct proc_sample samples[2] = { 0 };
	const struct cpulist all = { 0 };
	struct top_view view = {
		.stat = { .only = &all, .colours = term_colours(stdout) },
		.selected = 0,
	};
	uint64_t next = wait_clock_ns();
	int code = EXIT_PASS;
	unsigned int n = 0;

	do {
		if (!view.paused) {
			struct proc_sample *now = &samples[n++ % 2];

			proc_free(now);
			if (proc_read(options.directory, true, now)) {
				code = EXIT_ERROR;
				break;
			}
			view.stat.now = now;
			view.stat.before = n > 1 ? &samples[n % 2] : NULL;
			view.selected = top_move(now, view.selected, 0);
		}
		live_show(draw, &view);
		next = live_next(next, options.interval_ns);
	} while (live_attend(next, obey, draw, &view));
	proc_free(&samples[0]);
	proc_free(&samples[1]);
	return code;
}

static int run(int argc, char **argv)
{
	struct proc_sample sample;
	int code;

	(void)argc;
	(void)argv;
	/* What cannot be read is said before the screen is taken, and stays there. */
	if (proc_read(options.directory, true, &sample))
		return EXIT_ERROR;
	proc_free(&sample);
	wait_prepare();
	if (screen_open())
		return EXIT_ERROR;
	code = watch();
	screen_close();
	return code;
}

const struct command top_command = {
	.name = "top",
	.summary = "all isolated CPUs on a whole screen, live, and who wants them",
	.about = "Shows on the whole screen each isolated CPU with what comes to it a second, the longest wait of the CPUs whose senders waited until a breach, and of one CPU what isolator stat shows. Keys: q quits, p pauses, up and down (k and j) or the digit of a CPU choose it. The terminal is left as it was.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator top", "with the names of the senders",
		"isolator top --interval 0.2", "five times a second",
		NULL,
	},
	.exits = (const char *const []){
		"0", "q or Ctrl-C ended it",
		"1", "an error, which says what to do about it; there is no terminal, too",
		NULL,
	},
	.run = run,
};

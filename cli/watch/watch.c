// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator watch: which interrupts come how often, and which hit CPUs to be left alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/live.h"
#include "base/root.h"
#include "base/screen.h"
#include "base/term.h"
#include "base/wait.h"
#include "machine/affinity.h"
#include "machine/online.h"
#include "options/command.h"
#include "watch/watch.h"

static struct {
	struct watch_options watch;
	uint64_t interval_ns;	/* 0: not given */
	uint64_t time_ns;	/* 0: not given */
	unsigned int count;	/* 0: not given */
	bool json;
} options = {
	.watch = { .root = "/", .limit = WATCH_NO_LIMIT, .top = 20 },
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	OPTION_HELP_ALL_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "CPUS", "CPUs that must not be interrupted, such as 1 or 1,3-5 (default: isolated and shielded ones, isolcpus, nohz_full)",
	  .to.cpus = &options.watch.cpus },
	{ "interval", 'i', OPTION_TIME, "TIME", "time between two looks (default 1s)",
	  .to.ns = &options.interval_ns, .unit = "s" },
	{ "count", 'n', OPTION_NUMBER, "N", "end after N intervals (default: go on; 1 without a terminal, -i and -t)",
	  .to.number = &options.count, .min = 1 },
	{ "time", 't', OPTION_TIME, "TIME", "end after this time",
	  .to.ns = &options.time_ns, .unit = "s" },
	{ "max-rate", 0, OPTION_NUMBER, "N", "exit 2 if one of these CPUs gets more than N interrupts a second in any interval",
	  .to.number = &options.watch.limit },
	{ "top", 0, OPTION_NUMBER, "N", "show at most N rows of each table, 0 for all (default 20); JSON always has all",
	  .to.number = &options.watch.top },
	{ "zeros", 'z', OPTION_FLAG, NULL, "show interrupts and softirqs that did not come, too",
	  .to.flag = &options.watch.all, .rare = true },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object a line for each interval (schema isolator.watch, version 1)",
	  .to.flag = &options.json },
	{ "root", 0, OPTION_FILE, "DIR", "watch the machine whose files are in DIR (default /)",
	  .to.text = &options.watch.root, .rare = true },
	{ 0 },
};

/* What has been seen so far. */
struct run {
	struct look looks[2];
	struct interval interval;	/* of the interval that ended last */
	unsigned int intervals;
	struct cpulist own;	/* where this program may run */
	bool live, exceeded, inconclusive;
	struct watch_view view;
};

static void draw(FILE *out, const void *view)
{
	unsigned int rows, columns;

	term_size(stdout, &rows, &columns);
	watch_screen(out, view, rows, columns);
}

/* Returns false if the command must end. */
static bool obey(int key, void *data)
{
	static const char pages[WATCH_PAGES] = {
		[WATCH_INTERRUPTS] = 'i', [WATCH_SOFTIRQS] = 's', [WATCH_CLASSES] = 'l',
		[WATCH_CPUS] = 'c',
	};
	struct watch_view *view = data;

	if (key == 'q' || key == SCREEN_CLOSED)
		return false;
	if (key == 'p')
		view->paused = !view->paused;
	else if (key == SCREEN_UP || key == 'k')
		watch_move(view, -1);
	else if (key == SCREEN_DOWN || key == 'j')
		watch_move(view, 1);
	for (int i = 0; i < WATCH_PAGES; i++) {
		if (key != pages[i] || (int)view->page == i)
			continue;
		view->page = (enum watch_page)i;
		free(view->selected);
		view->selected = NULL;
	}
	return true;
}

/* This program shall not be what is seen: it leaves the guarded CPUs if it can. */
static void step_aside(struct run *run, const struct guard *guard)
{
	struct cpulist left = run->own;

	cpulist_minus(&left, &guard->cpus);
	if (root_live(options.watch.root) && run->own.given)
		affinity_set(0, cpulist_empty(&left) ? &run->own : &left);
}

static void show(struct run *run)
{
	if (options.json) {
		watch_json(stdout, run->view.interval);
	} else if (run->live) {
		live_show(draw, &run->view);
	} else {
		if (run->intervals > 1)
			putchar('\n');
		watch_text(stdout, &run->view);
	}
}

/* Waits for the next look; false: it shall end. */
static bool attend(struct run *run, uint64_t next_ns)
{
	return run->live ? live_attend(next_ns, obey, draw, &run->view) : wait_until(next_ns);
}

/* 0; -1 with nothing to free, said why: there are no interrupts to look at. */
static int take(struct look *look)
{
	static const struct cpulist all = { 0 };
	const char *root = options.watch.root;
	int error;

	look_take(look, root, &all);
	error = look->errors[LOOK_INTERRUPTS];
	if (!error)
		return 0;
	error_say("cannot read %s" INTERRUPTS_PATH ", so there is nothing to watch: %s: %s",
		  root_live(root) ? "" : root,
		  error == EBADMSG ? "its first line names no CPU" : strerror(error),
		  !root_live(root) ? "does --root name a recorded machine?" :
		  error == EACCES || error == EPERM ? error_denied() : "mount /proc");
	look_free(look);
	return -1;
}

/* The interval that ends now; -1, said why: there is none. */
static int add_interval(struct run *run)
{
	struct look *before = &run->looks[run->intervals % 2];
	struct look *now = &run->looks[(run->intervals + 1) % 2];
	enum span_verdict verdict;
	double seconds;

	run->view.interval = NULL;
	interval_free(&run->interval);
	run->interval = (struct interval){ 0 };
	look_free(now);
	if (take(now))
		return -1;
	seconds = look_seconds(before, now);
	if (interval_make(&run->interval, &options.watch, before, now, seconds))
		return -1;
	run->intervals++;
	run->view.interval = &run->interval;
	verdict = interval_verdict(&run->interval);
	run->exceeded |= verdict == SPAN_EXCEEDED;
	run->inconclusive |= verdict == SPAN_INCONCLUSIVE;
	step_aside(run, &run->interval.guard);
	return 0;
}

/* Looks again and again; the exit code. */
static int look_on(struct run *run)
{
	uint64_t next = run->looks[0].taken_ns;
	uint64_t end = options.time_ns ? next + options.time_ns : UINT64_MAX;

	if (run->live)
		live_show(draw, &run->view);
	while (!options.count || run->intervals < options.count) {
		next = live_next(next, options.interval_ns);
		if (next > end)
			next = end;
		if (!attend(run, next))
			break;
		if (!run->view.paused) {
			if (add_interval(run))
				return EXIT_ERROR;
			show(run);
			/* An interval is seen when it ends, by whoever reads a pipe too. */
			if (fflush(stdout))
				return EXIT_ERROR;	/* main() says why */
		}
		if (next >= end)
			break;
	}
	if (run->exceeded)
		return EXIT_EXCEEDED;
	/* Without an interval a limit was not even looked at. */
	if (options.watch.limit != WATCH_NO_LIMIT && (run->inconclusive || !run->intervals))
		return EXIT_INCONCLUSIVE;
	return EXIT_PASS;
}

/* The guarded CPUs are known before the first interval: what is done for it counts. */
static int prepare(struct run *run)
{
	struct cpulist online;
	struct capture capture;
	struct guard guard;

	if (options.watch.cpus.given &&
	    (online_read(options.watch.root, &online) ||
	     online_check("cpu", &options.watch.cpus, &online)))
		return -1;
	if (capture_open(&capture, options.watch.root))
		return -1;
	guard_read(&guard, &capture, &options.watch.cpus);
	run->own.given = !affinity_get(&run->own);
	step_aside(run, &guard);
	guard_free(&guard);
	capture_free(&capture);
	return 0;
}

static int run(int argc, char **argv)
{
	bool terminal = screen_possible();
	struct run run = { .view.colours = term_colours(stdout) };
	int code;

	(void)argc;
	(void)argv;
	run.live = terminal && !options.json && options.count != 1;
	if (!options.count && !options.time_ns && !options.interval_ns && !isatty(STDOUT_FILENO))
		options.count = 1;
	if (!options.interval_ns)
		options.interval_ns = WAIT_SECOND;
	/* What cannot be read is said before the screen is taken, and stays there. */
	if (prepare(&run) || take(&run.looks[0]))
		return EXIT_ERROR;
	wait_prepare();
	if (run.live && screen_open())
		code = EXIT_ERROR;
	else
		code = look_on(&run);
	if (run.live)
		screen_close();
	interval_free(&run.interval);
	look_free(&run.looks[0]);
	look_free(&run.looks[1]);
	free(run.view.selected);
	return code;
}

const struct command watch_command = {
	.name = "watch",
	.summary = "show which interrupts come, how often, to which CPUs, what helps",
	.about = "Shows how often each interrupt and softirq comes, by class and by CPU, where each device's interrupt goes, and which ones hit CPUs that must not be interrupted. For each of these it names the command that helps and its undo, or says why there is none. It changes nothing. On a terminal it fills the screen until q or Ctrl-C.",
	.options = specs,
	.examples = (const char *const []){
		"isolator watch", "show them live, on the whole screen",
		"isolator watch -c 3 -n 1", "show what interrupts CPU 3 in a second, and what helps",
		"isolator watch -c 3 --max-rate 10 -t 60s", "exit 2 if CPU 3 gets more than 10 in any of 60 seconds",
		"isolator watch --json -i 5s >> log", "write a record every 5 seconds, until Ctrl-C",
		NULL,
	},
	.exits = (const char *const []){
		"0", "shown, or ended by q or Ctrl-C, and --max-rate was not exceeded",
		"1", "an error, which says what to do about it",
		"2", "--max-rate was exceeded",
		"3", "inconclusive: with --max-rate, no CPU is protected, or one of them was offline at times",
		NULL,
	},
	.run = run,
};

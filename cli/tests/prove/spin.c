// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * isolator prove with doubles for its instruments and for the device: what it makes of
 * what they count, on a CPU that a thread really spins on.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/wait.h"
#include "check.h"
#include "fake.h"
#include "prove/verdict.h"

#define MS UINT64_C(1000000)

/* What comes: the last CPU that this process may run on. */
static int cpu;
static struct watch watch;

static int run(const struct instrument_type *first, const struct instrument_type *second,
	       bool isolate, uint64_t window_ns)
{
	const struct instrument_type *const table[] = { first, second, NULL };
	const struct watch_order order = {
		.cpu = cpu,
		.isolate = isolate,
		.window_ns = window_ns,
		.threshold_ns = 10000,
		.directory = "nowhere",
		.instruments = table,
	};
	int error = watch_run(&order, &watch);

	/* Nothing of it is left. */
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	return error;
}

static void says(const char *wanted)
{
	char *words = verdict_words(&watch);

	if (!strstr(words, wanted))
		printf("# \"%s\" does not say \"%s\"\n", words, wanted);
	CHECK(strstr(words, wanted));
	free(words);
}

static void name_it(struct instrument *instrument, const struct spin *spin)
{
	(void)spin;
	instrument_tally(instrument, "planted", "by a test");
}

/* Counts a deliberate entry, and nothing else. */
static void count_entries(struct instrument *instrument, enum point point,
			  const struct spin *spin)
{
	static uint64_t entries;

	(void)spin;
	entries += point == BEFORE_TO || point == AFTER_TO;
	instrument->tallies->count[point] = entries;
}

static void stand_still(struct instrument *instrument, enum point point,
			const struct spin *spin)
{
	(void)spin;
	instrument->tallies->count[point] = 7;
}

/* As count_entries(), and once a second. */
static void count_seconds(struct instrument *instrument, enum point point,
			  const struct spin *spin)
{
	static uint64_t from_ns;

	count_entries(instrument, point, spin);
	if (point == WINDOW_FROM)
		from_ns = wait_clock_ns();
	if (point == WINDOW_TO)
		instrument->tallies->count[point] += (wait_clock_ns() - from_ns) / (1000 * MS);
}

static const struct instrument_type
good = {
	.name = "good", .reader = READ_BY_WATCHER, .decides = true, .provoked = true,
	.mixes = true, .open = name_it, .sample = count_entries,
},
still = {
	.name = "still", .reader = READ_BY_WATCHER, .decides = true, .provoked = true,
	.open = name_it, .sample = stand_still,
},
each_second = {
	.name = "each second", .reader = READ_BY_WATCHER, .decides = true, .provoked = true,
	.open = name_it, .sample = count_seconds,
};

static void quiet(void)
{
	CHECK(!run(&good, NULL, false, 100 * MS));
	CHECK(verdict_find(&watch) == VERDICT_QUIET);
	CHECK(watch.begun && !watch.early && watch.seconds > 0.09 && watch.seconds < 60);
	CHECK(watch.spin->gaps.least && !watch.spin->ticks && watch.spin->kicks == 2);
	watch_free(&watch);
}

static void does_not_count(void)
{
	CHECK(!run(&good, &still, false, 50 * MS));
	CHECK(verdict_exit(verdict_find(&watch)) == EXIT_INCONCLUSIVE);
	says("still does not count");
	watch_free(&watch);
}

static void planted(void)
{
	CHECK(!run(&good, &each_second, false, 2100 * MS));
	CHECK(verdict_exit(verdict_find(&watch)) == EXIT_EXCEEDED);
	/* On a machine that is slow to end the window, more. */
	CHECK(instrument_since(&watch.spin->instruments[1], WINDOW_FROM) >= 2);
	says(" planted (by a test)");
	watch_free(&watch);
}

/* In the spinner, isolated by the device of lib/tests. */
static void make_due(struct instrument *instrument, enum point point,
		     const struct spin *spin)
{
	count_entries(instrument, point, spin);
	if (point == WINDOW_FROM)
		fake_due(ISOLATOR_DUE_TIMER);
	/* A tick costs 3 of its own. */
	instrument->tallies->count[point] += point == TICK_TO || point == WINDOW_TO ? 3 : 0;
}

static void end_it(struct instrument *instrument, enum point point, const struct spin *spin)
{
	count_entries(instrument, point, spin);
	if (point == WINDOW_FROM)
		fake_end(ISOLATOR_END_ADMIN);
}

static void kill_it(struct instrument *instrument, enum point point, const struct spin *spin)
{
	count_entries(instrument, point, spin);
	if (point == WINDOW_FROM)
		raise(SIGKILL);
}

static const struct instrument_type
ticking = { .name = "ticking", .decides = true, .provoked = true, .open = name_it,
	.sample = make_due },
ending = { .name = "ending", .decides = true, .provoked = true, .open = name_it,
	.sample = end_it },
dying = { .name = "dying", .decides = true, .provoked = true, .open = name_it,
	.sample = kill_it };

static void ticks(void)
{
	fake_reset();
	CHECK(!run(&ticking, &good, true, 50 * MS));
	CHECK(watch.spin->how == SPIN_ISOLATED && watch.spin->ticks == 1);
	CHECK(watch.spin->mask == ISOLATOR_MASK_ALL && watch.spin->got == ISOLATOR_GOT_LOCKED);
	/* The default, not that of the deliberate delivery. */
	CHECK(watch.spin->deadline_ns == 1000000000);
	CHECK(instrument_state(&watch.spin->instruments[0], 1) == INSTRUMENT_COUNTS);
	CHECK(instrument_state(&watch.spin->instruments[1], 1) == INSTRUMENT_BLIND);
	CHECK(watch.spin->instruments[0].tallies->own == 3);
	CHECK(verdict_find(&watch) == VERDICT_QUIET);
	watch_free(&watch);
}

static void ends(void)
{
	fake_reset();
	CHECK(!run(&ending, NULL, true, 60000 * MS));
	CHECK(watch.spin->end == ISOLATOR_END_ADMIN);
	CHECK(verdict_find(&watch) == VERDICT_NOT_QUIET);
	says("isolation ended: an administrator");
	watch_free(&watch);
}

static void refused(void)
{
	fake_reset();
	fake.fail_start = EACCES;
	CHECK(run(&good, NULL, true, 50 * MS) == -1);
	CHECK(strstr(watch.spin->failure, "cannot isolate CPU"));
	watch_free(&watch);
	fake_reset();
	fake.fail_open = ENOENT;
	CHECK(run(&good, NULL, true, 50 * MS) == -1);
	CHECK(strstr(watch.spin->failure, "/dev/isolator"));
	watch_free(&watch);
	fake_reset();
	fake.fail_tick = EINVAL;
	CHECK(run(&ticking, NULL, true, 50 * MS) == -1);
	CHECK(strstr(watch.spin->failure, "a tick failed"));
	watch_free(&watch);
}

static void killed(void)
{
	CHECK(run(&dying, NULL, false, 60000 * MS) == -1);
	CHECK(!*watch.spin->failure);
	watch_free(&watch);
}

/* In a child, whose affinity is its own. */
static void only_one_cpu(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			_exit(2);
		_exit(run(&good, NULL, false, 50 * MS) == -1 && !watch.begun ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
}

static void interrupt_watcher(struct instrument *instrument, enum point point,
			      const struct spin *spin)
{
	count_entries(instrument, point, spin);
	if (point == WINDOW_FROM)
		raise(SIGINT);
}

static const struct instrument_type interrupting = {
	.name = "interrupting", .reader = READ_BY_WATCHER, .decides = true, .provoked = true,
	.open = name_it, .sample = interrupt_watcher,
};

/* The last one: such a signal is for good. */
static void early(void)
{
	wait_prepare();
	CHECK(!run(&interrupting, NULL, false, 60000 * MS));
	CHECK(watch.early && watch.seconds < 60);
	CHECK(verdict_find(&watch) == VERDICT_QUIET);
	watch_free(&watch);
}

static const struct test tests[] = {
	{ "a quiet CPU", quiet },
	{ "a counter that never moves", does_not_count },
	{ "an interruption a second", planted },
	{ "ticks are the task's own", ticks },
	{ "an isolation that ends", ends },
	{ "an isolation that is refused", refused },
	{ "a spinner that is killed", killed },
	{ "a watcher without another CPU", only_one_cpu },
	{ "a window that is ended early", early },
};

int main(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			cpu = i;
	return check_run(tests, ARRAY_SIZE(tests));
}

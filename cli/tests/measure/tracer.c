// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel's tracers write, and the grid of the real-time clock. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/setting.h"
#include "check.h"
#include "measure/rtc.h"
#include "measure/tracer_line.h"
#include "tests/sampling/series_test.h"

#define AT "    81.637220: "
#define TASK "           <...>-861     [003] d.h.. " AT

static void lines(void)
{
	static const struct {
		const char *text;
		struct tracer_line line;
	} known[] = {
		{ TASK "irq_noise: local_timer:236 start 81.637218000 duration 1573 ns",
		  { TRACER_IRQ, 81637220000, 1573, 0, -1 } },
		{ TASK "nmi_noise: start 81.637218000 duration 9 ns",
		  { TRACER_NMI, 81637220000, 9, 0, -1 } },
		{ TASK "softirq_noise:    TIMER:1 start 81.637218000 duration 70000 ns",
		  { TRACER_SOFTIRQ, 81637220000, 70000, 0, -1 } },
		{ TASK "thread_noise: kworker/3:1:4711 start 81.637218000 duration 5000000000 ns",
		  { TRACER_THREAD, 81637220000, 5000000000, 0, 4711 } },
		{ TASK "sample_threshold: start 81.637218000 duration 12345 ns interference 3",
		  { TRACER_GAP, 81637220000, 12345, 3, -1 } },
		/* Linux 5.14 */
		{ TASK "sample_threshold: start 81.637218000 duration 12345 ns interferences 3",
		  { TRACER_GAP, 81637220000, 12345, 3, -1 } },
		{ TASK "1000000        190  99.98100       9     18      0   1007     18      1",
		  { TRACER_PERIOD, 81637220000, 190000, 1000000, -1 } },
		{ TASK "#2     inner/outer(us):   12/13    ts:1500.000000012 count:1",
		  { TRACER_HWLAT, 81637220000, 13000, 0, -1 } },
		{ TASK "#3     inner/outer(us):   14/2     ts:1500.000000012 count:7 nmi-total:3 nmi-count:2",
		  { TRACER_HWLAT, 81637220000, 14000, 2, -1 } },
		{ TASK "#17    context    irq timer_latency       932 ns",
		  { TRACER_TIMER_IRQ, 81637220000, 932, 17, -1 } },
		{ TASK "#17    context thread timer_latency     11700 ns",
		  { TRACER_TIMER_THREAD, 81637220000, 11700, 17, -1 } },
		{ TASK "#17    context user-ret timer_latency     11900 ns",
		  { TRACER_TIMER_USER, 81637220000, 11900, 17, -1 } },
		{ TASK "#17    context else timer_latency     11900 ns",
		  { TRACER_OTHER, 0, 0, 0, -1 } },
		{ "CPU:3 [LOST 12 EVENTS]", { TRACER_LOST, 0, 0, 12, -1 } },
		{ "CPU:3 [LOST EVENTS]", { TRACER_LOST, 0, 0, 1, -1 } },
		/* Names that look like what follows them. */
		{ "] x 1.000001: ab-861     [003] d.h.. " AT "thread_noise: a start 1.0:7 start 81.637218000 duration 5 ns",
		  { TRACER_THREAD, 81637220000, 5, 0, 7 } },
		{ TASK "thread_noise:  duration 9 ns:8 start 81.637218000 duration 5 ns",
		  { TRACER_THREAD, 81637220000, 5, 0, 8 } },
		/* Names with line ends, that look like others and are whole. */
		{ "             x\ny-861     [003] d.h.. " AT "thread_noise:      x\ny:861 start 81.637218000 duration 5 ns",
		  { TRACER_THREAD, 81637220000, 5, 0, 861 } },
		{ TASK "thread_noise:  duration 1 ns\n:8 start 81.637218000 duration 5 ns",
		  { TRACER_THREAD, 81637220000, 5, 0, 8 } },
		{ TASK "thread_noise: \nCPU:1 [LOST 9:8 start 81.637218000 duration 5 ns",
		  { TRACER_THREAD, 81637220000, 5, 0, 8 } },
		/* Parts of them, and what is cut off. */
		{ "", { TRACER_PART, 0, 0, 0, -1 } },
		{ "             x", { TRACER_PART, 0, 0, 0, -1 } },
		{ "y-861     [003] d.h.. " AT "thread_noise:     x", { TRACER_PART, 0, 0, 0, -1 } },
		{ "yyyyyyyyyyyyyy-861     [003] d.h.. " AT "thread_noise:     x",
		  { TRACER_PART, 81637220000, 0, 0, -1 } },
		{ "y:861 start 81.637218000 duration 5 ns", { TRACER_PART, 0, 0, 0, -1 } },
		{ "CPU:1 [LOST 9:861 start 81.637218000 duration 5 ns", { TRACER_PART, 0, 0, 0, -1 } },
		{ TASK "thread_noise:  duration 1 ns", { TRACER_PART, 81637220000, 0, 0, -1 } },
		{ TASK "thread_noise:  start 1.0 dura", { TRACER_PART, 81637220000, 0, 0, -1 } },
		{ TASK "irq_noise: local_timer:236 start 81.637218000", { TRACER_PART, 81637220000, 0, 0, -1 } },
		/* None of a tracer's, or cut off. */
		{ "# tracer: osnoise", { TRACER_PART, 0, 0, 0, -1 } },
		{ " => do_idle", { TRACER_OTHER, 0, 0, 0, -1 } },
		{ TASK, { TRACER_OTHER, 0, 0, 0, -1 } },
		{ TASK "<stack trace>", { TRACER_OTHER, 0, 0, 0, -1 } },
		{ TASK "osnoise_sample: runtime=1000000 noise=190", { TRACER_OTHER, 0, 0, 0, -1 } },
		{ TASK "1000000        190  99.98100       9", { TRACER_OTHER, 0, 0, 0, -1 } },
		{ TASK "sched_switch: prev_comm=a duration 5 ns", { TRACER_OTHER, 0, 0, 0, -1 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct tracer_line line = tracer_line(known[i].text);
		const struct tracer_line *want = &known[i].line;

		if (line.what != want->what || line.at_ns != want->at_ns || line.ns != want->ns ||
		    line.count != want->count || line.pid != want->pid) {
			printf("# \"%s\": %d at %llu: %llu ns, %llu, pid %d\n", known[i].text,
			       (int)line.what, (unsigned long long)line.at_ns,
			       (unsigned long long)line.ns, (unsigned long long)line.count,
			       (int)line.pid);
			check_failed = true;
		}
	}
}

/* Whatever is written, nothing is read beyond its end: this is for sanitizers. */
static void any_line(void)
{
	static const char *const words[] = {
		TASK, "irq_noise: ", " duration ", "5 ns", "#1", " context ", "irq", "[LOST ",
		"CPU:", " start ", ":", "thread_noise: ", "1000000 ", "99.1 ", "] ", " inner/outer(us): ",
	};
	char text[1024];

	for (unsigned int seed = 0; seed < 20000; seed++) {
		char *exact;

		srandom(seed);
		*text = '\0';
		for (long i = random() % 8; i >= 0; i--)
			strcat(text, words[(size_t)random() % ARRAY_SIZE(words)]);
		exact = strdup(text);
		if (!exact)
			error_no_memory();
		CHECK(tracer_line(exact).what <= TRACER_TIMER_USER);
		free(exact);
	}
}

/* realfeel looks at the time between two wake-ups, where one that is late makes two wrong. */
static void grid(void)
{
	struct worker worker = { .begin_ns = 1000 * MS, .end_ns = 2000 * MS };
	struct rtc_grid rtc = rtc_grid(999 * MS, 999 * MS + 700, 1024);
	struct series *series = worker.series[0] = new_series(DIGITS);
	const uint64_t period = 976562;	/* the kernel's, whole ns */

	series_start(series, worker.begin_ns);
	CHECK(rtc.period_ns == period);
	/* The first is before it begins. */
	rtc_take(&worker, &rtc, 0x1c0, 999 * MS + period + 5000);
	CHECK(series->triggers == 0);
	rtc_take(&worker, &rtc, 0x1c0, 999 * MS + 2 * period + 5000);
	CHECK(series->triggers == 1 && series->max == 5000);
	/* Three at once: each has its own lateness, none is lost. */
	rtc_take(&worker, &rtc, 0x3c0, 999 * MS + 5 * period + 100);
	CHECK(series->triggers == 4 && !series->missing && series->max == 2 * period + 100);
	CHECK(series->min == 100);
	/* Earlier than any timer may be: it is not folded to what fits. */
	rtc_take(&worker, &rtc, 0x1c0, 999 * MS + 6 * period - 1);
	CHECK(series->triggers == 5 && series->missing == 1 && series_complete(series));
	/* Nothing came. */
	rtc_take(&worker, &rtc, 0xc0, 1500 * MS);
	CHECK(series->triggers == 5);
	/* What was due when it was over is none of it. */
	rtc.trigger = 1100;
	rtc_take(&worker, &rtc, 0x1c0, 3000 * MS);
	CHECK(series->triggers == 5);
	free(series);
}

/* What is written to put a switch among others back is that word, not all that it shows. */
static void switches(void)
{
	static const char shown[] = "NO_DEFAULTS OSNOISE_WORKLOAD NO_OSNOISE_IRQ_DISABLE \n";
	static const struct {
		const char *wanted, *before;
		bool held;
	} known[] = {
		{ "NO_OSNOISE_WORKLOAD", "OSNOISE_WORKLOAD", false },
		{ "OSNOISE_WORKLOAD", "OSNOISE_WORKLOAD", true },
		{ "OSNOISE_IRQ_DISABLE", "NO_OSNOISE_IRQ_DISABLE", false },
		{ "NO_OSNOISE_IRQ_DISABLE", "NO_OSNOISE_IRQ_DISABLE", true },
		/* Part of a word is none. */
		{ "OSNOISE", "NO_OSNOISE", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char *before = setting_before(SETTING_SWITCH, shown, known[i].wanted);

		CHECK_TEXT(before, known[i].before);
		CHECK(setting_holds(SETTING_SWITCH, shown, known[i].wanted) == known[i].held);
		free(before);
	}
}

int main(void)
{
	static const struct test tests[] = {
		{ "lines of the tracers", lines },
		{ "any line", any_line },
		{ "the grid of the real-time clock", grid },
		{ "switches among words", switches },
	};

	return check_run(tests, ARRAY_SIZE(tests));
}

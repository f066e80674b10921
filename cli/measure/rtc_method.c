// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/rtc.h>

#include "base/error.h"
#include "measure/rtc.h"

#define FLAGS 8		/* low bits of what is read: what came; above: how many */

/* What one thread has. */
struct rtc {
	int file;
	struct rtc_grid grid;
};

struct rtc_grid rtc_grid(uint64_t began_ns, uint64_t known_ns, unsigned int rate)
{
	return (struct rtc_grid){ .began_ns = began_ns, .known_ns = known_ns,
				  .period_ns = WAIT_SECOND / rate };
}

void rtc_take(struct worker *worker, struct rtc_grid *grid, unsigned long data, uint64_t now_ns)
{
	struct series *series = worker->series[0];

	series_begin(series);
	for (unsigned long count = data >> FLAGS; count; count--) {
		uint64_t due_ns = grid->began_ns + ++grid->trigger * grid->period_ns;
		uint64_t trigger = series->triggers;

		if (due_ns < worker->begin_ns || due_ns >= worker->end_ns)
			continue;
		series_due(series, trigger);
		/* Before its time: the grid is not what is read. */
		if (now_ns < due_ns)
			series_miss(series, 1);
		else
			series_record(series, trigger, now_ns - due_ns, now_ns);
	}
	series_end(series);
}

static bool fail(struct worker *worker, const char *what, const char *help)
{
	const struct rtc_options *options = worker->options;

	snprintf(worker->failure, sizeof(worker->failure), "%s: %s: %s%s%s", options->path, what,
		 strerror(errno), *help ? ": " : "", help);
	return false;
}

static bool open_rtc(struct worker *worker)
{
	const struct rtc_options *options = worker->options;
	struct rtc *rtc = calloc(1, sizeof(*rtc));
	unsigned long rate = 0;

	if (!rtc)
		error_no_memory();
	worker->own = rtc;
	rtc->file = open(options->path, O_RDONLY | O_CLOEXEC);
	if (rtc->file < 0) {
		fail(worker, "cannot open it", errno == EBUSY ? "another program uses it" :
		     errno == EACCES || errno == EPERM ? error_denied() : "");
		free(rtc);
		return false;
	}
	if (ioctl(rtc->file, RTC_IRQP_SET, (unsigned long)options->rate))
		fail(worker, "cannot set this rate",
		     "only root may; others choose a --period of at least 16ms, or what /sys/class/rtc/rtc0/max_user_freq allows");
	else if (ioctl(rtc->file, RTC_IRQP_READ, &rate) || rate != options->rate)
		fail(worker, "the chip has another rate than the one that was set", "try a longer --period");
	else
		return true;
	close(rtc->file);
	free(rtc);
	return false;
}

/*
 * As an ordinary thread: the kernel waits in a loop for its timer's function to return, and
 * with PREEMPT_RT that runs in a thread, which this one may just have preempted on its CPU.
 */
static void stop(int file)
{
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	ioctl(file, RTC_PIE_OFF, 0);
}

static void run_rtc(struct worker *worker)
{
	struct rtc *rtc = worker->own;
	uint64_t began_ns = wait_clock_ns();
	struct rtc_grid grid;

	/* That it cannot be turned on leaves a series without triggers, which is told. */
	if (ioctl(rtc->file, RTC_PIE_ON, 0))
		return;
	grid = rtc_grid(began_ns, wait_clock_ns(), ((const struct rtc_options *)worker->options)->rate);
	while (!worker_over(worker) &&
	       !(worker->samples && worker->series[0]->triggers >= worker->samples)) {
		unsigned long data;
		ssize_t size = read(rtc->file, &data, sizeof(data));
		uint64_t now_ns = wait_clock_ns();

		if (size == (ssize_t)sizeof(data))
			rtc_take(worker, &grid, data, now_ns);
		else if (size < 0 && errno != EINTR)
			break;
		if (now_ns >= worker->end_ns)
			break;
	}
	stop(rtc->file);
}

static void close_rtc(struct worker *worker)
{
	struct rtc *rtc = worker->own;

	close(rtc->file);
	free(rtc);
}

const struct method rtc_method = {
	.name = "rtc",
	.series = { "latency" },
	.monotonic = "the kernel's timer that stands for the chip is set by it",
	.open = open_rtc,
	.run = run_rtc,
	.close = close_rtc,
};

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/rtc.h>

#include "base/error.h"
#include "measure/rtc.h"

#define FLAGS 8		/* low bits of what is read: what came; above: how many */

/* There is one run in a process, and of the clock one reader. */
static struct {
	int file;
	unsigned long before;	/* the rate that it had */
} armed;

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

static int fail(const char *path, const char *what, const char *help)
{
	error_say("%s: %s: %s%s%s", path, what, strerror(errno), *help ? ": " : "", help);
	return -1;
}

/* 0 if the chip has it then; -1 with errno, 0: it has another. */
static int set_rate(unsigned long rate)
{
	unsigned long now = 0;

	if (ioctl(armed.file, RTC_IRQP_SET, rate) || ioctl(armed.file, RTC_IRQP_READ, &now))
		return -1;
	errno = 0;
	return now == rate ? 0 : -1;
}

/* As it was before; false, said why. */
static bool put_back(const char *path)
{
	bool good = !set_rate(armed.before);

	if (!good)
		error_say("%s: its rate of %lu a second cannot be put back: %s: start programs that read it again",
			  path, armed.before, errno ? strerror(errno) : "it has another");
	close(armed.file);
	return good;
}

static int arm(const void *data, const struct cpulist *cpus, const char *root,
	       struct result *result)
{
	const struct rtc_options *options = data;

	(void)cpus;
	(void)root;
	(void)result;
	armed.file = open(options->path, O_RDONLY | O_CLOEXEC);
	if (armed.file < 0)
		return fail(options->path, "cannot open it", errno == EBUSY ?
			    "another program uses it" : errno == EACCES || errno == EPERM ?
			    error_denied() : "");
	/* What it has is set, too: whoever may not do that could not put it back either. */
	if (ioctl(armed.file, RTC_IRQP_READ, &armed.before) || set_rate(armed.before)) {
		fail(options->path, "could not put its rate back afterwards", error_denied());
		close(armed.file);
		return -1;
	}
	if (!set_rate(options->rate))
		return 0;
	if (errno)
		fail(options->path, "cannot set this rate",
		     "only root may; others choose a --period of at least 16ms, or what /sys/class/rtc/rtc0/max_user_freq allows");
	else
		error_say("%s: the chip has another rate than the one that was set: try a longer --period",
			  options->path);
	put_back(options->path);
	return -1;
}

static bool disarm(struct result *result, const void *data)
{
	const struct rtc_options *options = data;

	(void)result;
	return put_back(options->path);
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
	uint64_t began_ns = wait_clock_ns();
	struct rtc_grid grid;

	/* That it cannot be turned on leaves a series without triggers, which is told. */
	if (ioctl(armed.file, RTC_PIE_ON, 0))
		return;
	grid = rtc_grid(began_ns, wait_clock_ns(), ((const struct rtc_options *)worker->options)->rate);
	while (!worker_over(worker) &&
	       !(worker->samples && worker->series[0]->triggers >= worker->samples)) {
		unsigned long data;
		ssize_t size = read(armed.file, &data, sizeof(data));
		uint64_t now_ns = wait_clock_ns();

		if (size == (ssize_t)sizeof(data))
			rtc_take(worker, &grid, data, now_ns);
		else if (size < 0 && errno != EINTR)
			break;
		if (now_ns >= worker->end_ns)
			break;
	}
	stop(armed.file);
}

const struct method rtc_method = {
	.name = "rtc",
	.series = { "latency" },
	.monotonic = "the kernel's timer that stands for the chip is set by it",
	.arm = arm,
	.disarm = disarm,
	.run = run_rtc,
};

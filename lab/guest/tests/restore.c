// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: restore
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: after stop the tick runs, due timers have run and the accounting is right
 */
#include <poll.h>
#include <sys/timerfd.h>
#include "../test.h"

static int timer = -1;

/* Arms a timer on the isolated CPU before its start, due in the middle of it. */
static void arm(void)
{
	struct itimerspec spec = { .it_value.tv_nsec = 300 * 1000000 };

	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	if (timer < 0 || timerfd_settime(timer, 0, &spec, NULL))
		bail_out("timerfd");
}

static double user_seconds(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec * 1e-6;
}

/* How long it is since @began, s: what spins may stand still at its end. */
static double since(uint64_t began)
{
	return (double)(now_ns() - began) / (double)SEC;
}

/* User and nice time of CPU 1 in /proc/stat, s. */
static double cpu_user_seconds(void)
{
	FILE *f = fopen("/proc/stat", "r");
	long long user = 0, nice = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu1 %lld %lld", &user, &nice) == 2)
			break;
	if (f)
		fclose(f);
	return (double)(user + nice) / (double)sysconf(_SC_CLK_TCK);
}

static void spin(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static bool near(double value, double want)
{
	return value > want * 0.85 - 0.05 && value < want * 1.15 + 0.05;
}

int main(void)
{
	struct worker *plain = worker_new(1);
	double task, cpu, middle, first, both;
	struct iso iso;
	uint64_t count = 0, began;
	long long loc;

	iso_require(2);
	iso_pin(1);
	arm();
	if (iso_start(&iso, 30 * SEC, 0))
		bail_out("start");
	task = user_seconds();
	cpu = cpu_user_seconds();
	began = now_ns();
	spin(SEC);
	ok(!iso_tick(&iso, NULL), "tick");
	middle = user_seconds() - task;
	first = since(began);
	spin(SEC);
	ok(!iso_stop(&iso), "stop");
	diag("right after stop the task used %.2f s", user_seconds() - task);
	spin(20 * MS);
	task = user_seconds() - task;
	cpu = cpu_user_seconds() - cpu;
	both = since(began);
	ok(near(middle, first), "after %.2f s and a tick the task used %.2f s", first, middle);
	ok(near(task, both), "after %.2f s and stop the task used %.2f s", both, task);
	ok(near(cpu, both), "/proc/stat counts %.2f s of user time on the CPU", cpu);
	ok(read(timer, &count, sizeof(count)) == sizeof(count) && count == 1,
	   "the timer that was due has run: %lu", count);

	arm();
	spin(600 * MS);
	ok(read(timer, &count, sizeof(count)) == sizeof(count) && count == 1,
	   "a new timer runs on this CPU");
	iso_pin(0);
	plain->plain = true;
	need_worker(worker_process(plain));
	/* Without a tick there are one or two a second. */
	loc = interrupts_more("LOC", 1, 200);
	ok(loc > 200, "the tick runs: %lld timer interrupts in 5 s at most", loc);
	worker_end(plain);
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: quota
 * cpus: 4
 * kernel: isolator
 * timeout: 120
 * about: groups with a CPU quota get it beside an isolated CPU that never ticks, whose timer it was
 */
#include "../test.h"
#include "timer_list.h"

#define TOP	"/sys/fs/cgroup/"
#define OTHERS	TOP "lab-quota"
#define OWN	TOP "lab-quota-own"

/* A busy host takes CPUs of the guest for longer than this allows: then another window. */
enum { WINDOWS = 5, PERIODS = 20, PERIOD_MS = 100, QUOTA_US = 20000, PERCENT = 2 };
/* A moment is late by as much as the host takes then: two periods of twenty. */
enum { LATE_PERCENT = 10, WINDOW_MS = 3000 };

/* What a group has had, of one moment, and when: its statistics may take long to add up. */
struct sample {
	uint64_t at_us, usage, periods, throttled_times, throttled;
};

static uint64_t value_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static struct sample sample(const char *group)
{
	uint64_t before = now_ns();
	char path[128], text[1024];

	snprintf(path, sizeof(path), "%s/cpu.stat", group);
	if (get_file(path, text, sizeof(text)))
		bail_out("cpu.stat");
	return (struct sample){
		.at_us = (before + now_ns()) / 2 / 1000,
		.usage = value_of(text, "usage_usec "),
		.periods = value_of(text, "nr_periods "),
		.throttled_times = value_of(text, "nr_throttled "),
		.throttled = value_of(text, "throttled_usec "),
	};
}

static bool set(const char *group, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return !put_file(path, text);
}

static void make(const char *group, const char *quota)
{
	if ((mkdir(group, 0755) && errno != EEXIST) || !set(group, "cpu.max", quota))
		bail_out("no group with a quota: cgroup v2 and CONFIG_CFS_BANDWIDTH");
}

/* An ordinary task of the group that is always busy. */
static pid_t busy_in(const char *group, int cpu)
{
	pid_t pid = fork();

	if (pid < 0)
		bail_out("fork");
	if (pid)
		return pid;
	if (iso_pin(cpu) || !set(group, "cgroup.procs", "0"))
		_exit(1);
	for (;;)
		;
}

static void end(pid_t pid, const char *group)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	comes(!rmdir(group), 5000);
}

/* Waits for the next time the quota is refilled, 2 s at most. */
static bool refilled(const char *group)
{
	uint64_t first = sample(group).periods;

	return comes(sample(group).periods > first, 2000);
}

/* Until the timer of a group without tasks has stopped: what sets a quota starts it. */
static void rest(const char *group)
{
	uint64_t last = sample(group).periods, now;

	for (int still = 0; still < 5; still++, last = now) {
		sleep_ms(PERIOD_MS);	/* sleep: another period would come */
		now = sample(group).periods;
		if (now != last)
			still = 0;
	}
}

/* Is the timer that refills a quota on this CPU? */
static bool timer_on(int cpu)
{
	return timer_active("sched_cfs_period_timer", cpu);
}

static bool within(uint64_t is, uint64_t want, unsigned int percent)
{
	return is * 100 >= want * (100 - percent) && is * 100 <= want * (100 + percent);
}

/* As the group has used up what it has in a period: until the next one it uses nothing. */
static bool used_up(const char *group, struct sample *now)
{
	uint64_t times = sample(group).throttled_times;

	return comes((*now = sample(group)).throttled_times > times, 2000);
}

enum share { RIGHT, WRONG, STOPPED };

/* @quota_us in each period, whatever it wants, and the periods come in time. */
static enum share gets(const char *group, unsigned int quota_us)
{
	struct sample first, last;
	uint64_t periods, used, took;

	if (!used_up(group, &first)) {
		diag("%s: no period in 2 s", group);
		return STOPPED;
	}
	for (int i = 0; i < PERIODS; i++) {
		if (!used_up(group, &last)) {
			diag("%s: %d periods, then none in 2 s", group, i);
			return STOPPED;
		}
	}
	periods = last.periods - first.periods;
	used = last.usage - first.usage;
	took = last.at_us - first.at_us;
	diag("%s: %lu us in %lu periods, which took %lu us", group, used, periods, took);
	return within(used, periods * quota_us, PERCENT) &&
	       within(took, periods * PERIOD_MS * 1000, LATE_PERCENT) ? RIGHT : WRONG;
}

/* A host that takes time from the guest spoils a share; it does not stop the refills. */
static bool gets_once(const char *group, unsigned int quota_us)
{
	enum share share = WRONG;

	for (int i = 0; i < WINDOWS && share == WRONG; i++)
		share = gets(group, quota_us);
	return share == RIGHT;
}

/* The group's timer began where the isolated CPU is; its task goes elsewhere. */
static void others(void)
{
	struct worker *w = worker_new(1);
	pid_t pid;

	make(OTHERS, "20000 100000");
	rest(OTHERS);
	pid = busy_in(OTHERS, 1);
	if (!refilled(OTHERS))
		bail_out("the quota is not refilled at all");
	/* It is on none while it runs, which on a busy host may take a while. */
	ok(comes(timer_on(1), 5000), "the timer of a quota is on CPU 1");
	if (iso_pin_task(pid, 3))
		bail_out("sched_setaffinity");
	w->deadline_ns = 60 * SEC;
	if (ok(worker_process(w), "CPU 1 is isolated and never ticks")) {
		ok(!timer_on(1), "the timer is elsewhere");
		ok(gets_once(OTHERS, QUOTA_US), "an unrelated group gets its 20 %%");
		if (!ok(!w->missed, "no deadline miss"))
			show_deliveries();
		worker_end(w);
	}
	end(pid, OTHERS);
}

/* What the group ran without being throttled; else 0. */
static uint64_t unthrottled(struct worker *w, uint64_t *took)
{
	struct sample first = sample(OWN), last;
	uint64_t now;

	sleep_ms(WINDOW_MS);	/* sleep: what it runs in this time is asked */
	last = sample(OWN);
	*took = last.at_us - first.at_us;
	/* Now it would be due at once. */
	if (!worker_tick(w, 5000))
		diag("no tick");
	for (int i = 0; i < 3; i++)
		refilled(OWN);
	now = sample(OWN).throttled;
	diag("%lu us in %lu us, throttled for %lu us", last.usage - first.usage, *took,
	     now - first.throttled);
	return now == first.throttled ? last.usage - first.usage : 0;
}

/* Two of three CPUs' worth: the isolated task's share is charged while it does not tick. */
static void own(void)
{
	struct worker *w = worker_new(1);
	uint64_t used = 0, took = 1;
	bool isolated;
	pid_t pid;

	make(OWN, "300000 100000");
	pid = busy_in(OWN, 3);
	w->deadline_ns = 60 * SEC;
	w->other = true;
	if (!set(OWN, "cgroup.procs", "0"))
		bail_out("cgroup.procs");
	isolated = worker_process(w);
	if (!set(TOP, "cgroup.procs", "0"))
		bail_out("cgroup.procs of the root");
	if (ok(isolated, "a task of the group is isolated")) {
		for (int i = 0; i < WINDOWS && !(used && within(used, 2 * took, PERCENT)); i++)
			used = unthrottled(w, &took);
		ok(!timer_on(1), "its timer is elsewhere");
		ok(used, "within its quota the group is not throttled");
		ok(within(used, 2 * took, PERCENT), "and is charged for it while it does not tick");
		if (!ok(!w->missed, "no deadline miss"))
			show_deliveries();
		worker_end(w);
	}
	end(pid, OWN);
}

int main(void)
{
	iso_require(4);
	if (put_file(TOP "cgroup.subtree_control", "+cpu"))
		bail_out("no cgroup v2 with the controller cpu");
	others();
	own();
	return done_testing();
}

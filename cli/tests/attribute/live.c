// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Causes made on this machine, and found again by what isolator measure --why uses: a thread
 * spins on the last CPU and looks for gaps while another one disturbs it.  It needs root, and
 * a kernel with tracing; the instances of tracefs are its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "attribute/attribute.h"
#include "base/array.h"
#include "base/wait.h"
#include "check.h"
#include "machine/affinity.h"

#define WINDOW_NS (WAIT_SECOND / 4)
#define MOST 2000
#define EXIT_SKIP 77

static int cpu, other;
static pid_t tid;
static volatile bool over, begun, go;
static uint64_t threshold_ns;
static struct outlier outliers[MOST];
static size_t count;
static void (*own)(void);	/* what the measuring thread does itself, between two looks */

static void stay(int where)
{
	struct cpulist here = { 0 };

	cpulist_add(&here, where);
	affinity_set(0, &here);
}

static void see(uint64_t from, uint64_t to)
{
	if (to - from < threshold_ns || count == MOST)
		return;
	outliers[count] = (struct outlier){ cpu, tid, count, from, to, to - from };
	count++;
}

/* Above what others do on this machine. */
static bool first(int priority)
{
	return !sched_setscheduler(0, SCHED_FIFO,
				   &(struct sched_param){ .sched_priority = priority });
}

/* It is there before it is traced. */
static void wait_to_go(void)
{
	first(1);
	tid = (pid_t)syscall(SYS_gettid);
	begun = true;
	while (!go)
		usleep(100);	/* sleep: between two looks */
}

static void *spin(void *unused)
{
	uint64_t before, end;

	(void)unused;
	stay(cpu);
	wait_to_go();
	before = wait_clock_ns();
	end = before + WINDOW_NS;
	while (before < end) {
		uint64_t now;

		if (own)
			own();
		now = wait_clock_ns();
		see(before, now);
		before = wait_clock_ns();
	}
	over = true;
	return NULL;
}

/* Timed wake-ups. */
static void *wake(void *unused)
{
	uint64_t end, at;

	(void)unused;
	stay(cpu);
	wait_to_go();
	at = wait_clock_ns();
	end = at + WINDOW_NS;
	while (at < end) {
		struct timespec when;
		uint64_t now;

		at += 2000000;
		when = (struct timespec){ (time_t)(at / WAIT_SECOND), (long)(at % WAIT_SECOND) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL); /* sleep: this is measured */
		now = wait_clock_ns();
		see(at, now);
		if (now > at)
			at = now;
	}
	over = true;
	return NULL;
}

static void nothing(void)
{
	usleep(1000);	/* sleep: it disturbs now and then */
}

static void flush(void)
{
	static char *page;

	if (!page)
		page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(page, 1, 1 << 20);
	mprotect(page, 1 << 20, PROT_READ);
	mprotect(page, 1 << 20, PROT_READ | PROT_WRITE);
	usleep(500);	/* sleep: it disturbs now and then */
}

static void fault(void)
{
	static char *pages;
	static size_t at;

	if (!pages)
		pages = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	pages[at] = 1;
	at = (at + 4096) % (64 << 20);
	if (!at)
		madvise(pages, 64 << 20, MADV_DONTNEED);
}

/* Away and back. */
static void migrate(void)
{
	struct cpulist there = { 0 }, here = { 0 };

	cpulist_add(&there, other);
	cpulist_add(&here, cpu);
	affinity_set(tid, &there);
	usleep(1000);	/* sleep: it disturbs now and then */
	affinity_set(tid, &here);
	usleep(3000);	/* sleep: it disturbs now and then */
}

/* A thread before it that wants the CPU too. */
static void hog(void)
{
	uint64_t until;

	stay(cpu);
	until = wait_clock_ns() + 3000000;
	while (wait_clock_ns() < until)
		;
	usleep(3000);	/* sleep: it disturbs now and then */
}

static void patch(void)
{
	static int directory = -1;
	int context, file;

	if (directory < 0) {
		context = (int)syscall(SYS_fsopen, "tracefs", 0);
		syscall(SYS_fsconfig, context, 6, NULL, NULL, 0);
		directory = (int)syscall(SYS_fsmount, context, 0, 0);
		mkdirat(directory, "instances/attribute-live", 0700);
	}
	for (int on = 1; on >= 0; on--) {
		file = openat(directory, "instances/attribute-live/events/jbd2/enable", O_WRONLY);
		if (write(file, on ? "1" : "0", 1) != 1)
			usleep(1);	/* sleep: it is tried again at once */
		close(file);
	}
	if (over)
		unlinkat(directory, "instances/attribute-live", AT_REMOVEDIR);
	usleep(1000);	/* sleep: it disturbs now and then */
}

static void timers(void)
{
	static timer_t timer;
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	struct itimerspec each = { { 0, 50000 }, { 0, 50000 } };

	if (!timer) {
		stay(cpu);
		timer_create(CLOCK_MONOTONIC, &none, &timer);
		timer_settime(timer, 0, &each, NULL);
		stay(other);
	}
	usleep(1000);	/* sleep: it disturbs now and then */
}

static const struct scenario {
	const char *name;
	void *(*measure)(void *);
	void (*disturb)(void);
	void (*own)(void);
	uint64_t threshold_ns;
	enum cause_kind kind;
	const char *who;
} scenarios[] = {
	{ "page faults", spin, nothing, fault, 500, CAUSE_FAULT, NULL },
	{ "a TLB flush", spin, flush, NULL, 1000, CAUSE_IPI, "flush_tlb_func" },
	{ "migration", spin, migrate, NULL, 20000, CAUSE_MIGRATION, NULL },
	{ "another thread", spin, hog, NULL, 500000, CAUSE_PREEMPTION, NULL },
	{ "patched text", spin, patch, NULL, 1000, CAUSE_TEXT_PATCH, "do_sync_core" },
	{ "timers", spin, timers, NULL, 1000, CAUSE_TIMER, NULL },
	{ "wake-ups", wake, nothing, NULL, 1000, CAUSE_TIMER, "hrtimer_wakeup" },
};

static void one(const struct scenario *scenario)
{
	struct cpulist cpus = { 0 };
	struct finding *finding = malloc(sizeof(*finding));
	struct attribute *attribute;
	uint64_t from_ns;
	pthread_t thread;
	char *why;
	size_t named = 0;

	cpulist_add(&cpus, cpu);
	count = 0;
	over = begun = go = false;
	tid = 0;
	own = scenario->own;
	threshold_ns = scenario->threshold_ns;
	CHECK(!pthread_create(&thread, NULL, scenario->measure, NULL));
	while (!begun)
		usleep(100);	/* sleep: between two looks */
	attribute = attribute_open(&(struct attribute_options){
		.cpus = &cpus, .most = 10, .threshold_ns = threshold_ns, .hold_ms = 500 }, &why);
	CHECK(attribute);
	go = true;
	while (!over)
		scenario->disturb();
	scenario->disturb();
	stay(other);
	pthread_join(thread, NULL);
	if (!attribute) {
		printf("# %s\n", why);
		free(why);
		free(finding);
		return;
	}
	from_ns = wait_clock_ns();
	for (size_t i = 0; i < count; i++) {
		attribute_look(attribute, &outliers[i], finding);
		CHECK(finding->explained_ns <= outliers[i].to_ns - outliers[i].from_ns);
		for (size_t k = 0; k < finding->count; k++)
			if (finding->causes[k].kind == scenario->kind &&
			    (!scenario->who || (finding->causes[k].who &&
						!strcmp(finding->causes[k].who, scenario->who))))
				named++;
	}
	printf("# %s: %zu of %zu named; %" PRIu64 " ns a look\n", scenario->name, named, count,
	       count ? (wait_clock_ns() - from_ns) / count : 0);
	CHECK(named);
	if (getenv("VERBOSE"))
		attribute_text(stdout, attribute, 5, false);
	attribute_close(attribute);
	free(finding);
}

int main(void)
{
	int failures = 0;
	cpu_set_t set;

	cpu = other = -1;
	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set)) {
			other = cpu;
			cpu = i;
		}
	if (geteuid() || other < 0 || !first(2)) {
		puts("1..0 # SKIP it needs root, two CPUs, and SCHED_FIFO");
		return EXIT_SKIP;
	}
	stay(other);
	printf("1..%zu\n", ARRAY_SIZE(scenarios));
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
		check_failed = false;
		one(&scenarios[i]);
		printf("%sok %zu - %s\n", check_failed ? "not " : "", i + 1, scenarios[i].name);
		failures += check_failed;
	}
	return failures ? 1 : 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * instants: makes one request after another to an isolated CPU, which the plugin
 * lab/observer/park.c parks at one instruction after another of its way into the kernel and out.
 *
 *	instants PLAN
 *
 * A line of PLAN is a trial: its number, path, kind, where the sender is held, the gate of the
 * isolated CPU, where that is parked, at which time it comes there, and the fault that is planted
 * in the kernel meanwhile, or none.  What came of each the plugin writes, with what it saw itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "instants.h"
#include "marker.h"
#include "park.h"
#include "tap.h"
#include "worker.h"

#define PARK(what)	MARK(MARK_PARK, what)
#define NOT_SEEN	0xffffffffu
#define FAULTS		"/proc/isolator/fault"
#define NO_FAULT	"none"
enum { CPU = 1, NONE = -1, PATIENCE_MS = 300, LENT_MS = 800, TICK_MS = 5, TICKS = 40 };

/* How the isolated task gets into the kernel, and what waits for it there. */
enum path {
	PATH_SYSCALL, PATH_LEAVES, PATH_MUTED, PATH_DEFERRED, PATH_QUEUED, PATH_FAULT, PATHS
};

static const char *const path_names[PATHS] = {
	"syscall", "leaves", "muted", "deferred", "queued", "fault",
};

static const char *const kind_names[INSTANTS_KINDS] = {
	"text", "key", "tlb", "excluded", "stop", "call", "async", "irq-work", "thread", "resched",
	"timer", "signal",
};

enum result {
	R_ERROR, R_DEFERRED, R_EXCLUDED, R_QUEUED, R_IMMEDIATE, R_MISSED, R_RAN, R_BEFORE_RAN,
	R_OLD, R_NEW, R_SEEN, R_SEEN_LATER, R_DUE, R_TASK_ERROR, R_MORE_TICKS,
};

enum order { NOTHING, ENTER, FAULT, FORGET, LOOK, TICK, STOP };

static _Atomic int order;
static _Atomic int state;
static struct iso iso;
static _Atomic bool returned;	/* the request has come back */
static _Atomic unsigned int looks;	/* that the task took by itself */
static int device, task_error;
static pid_t tid;
static struct instants_seen seen;
static _Atomic unsigned int signals;
static bool leaves;
static volatile char *page;
static struct park_trial *const trial = (void *)PARK_PAGE;

static void on_signal(int sig)
{
	signals++;
	PARK(PARK_OWN);		/* the return from here is a system call */
}

/*
 * Back in user mode, where a request may have been queued: the sender of some waits for that.  The
 * task looks after itself, as it has promised, but not at once: what is on its way comes first.
 */
static void mind_what_is_due(void)
{
	struct instants_seen unused;

	for (unsigned int i = 0; !returned; i++) {
		if (i < 20000 || !iso.page->due)
			continue;
		looks++;
		PARK(PARK_OWN);
		syscall(SYS_ioctl, device, INSTANTS_LOOK, &unused);
		i = 0;
	}
}

static void follow(int what)
{
	switch (what) {
	case ENTER:
		PARK(PARK_OWN);
		syscall(SYS_ioctl, device, leaves ? INSTANTS_LEAVE : INSTANTS_LOOK, &seen);
		mind_what_is_due();
		break;
	case FAULT:
		PARK(PARK_OWN);
		*page = 1;
		mind_what_is_due();
		break;
	case FORGET:
		madvise((void *)page, 4096, MADV_DONTNEED);
		break;
	case LOOK:
		PARK(PARK_OWN);
		syscall(SYS_ioctl, device, INSTANTS_LOOK, &seen);
		break;
	case TICK:
		PARK(PARK_OWN);
		task_error = iso_tick(&iso, NULL);
		break;
	}
}

static void *task(void *unused)
{
	struct sched_param param = { .sched_priority = 10 };
	int what, error = iso_pin(CPU);

	tid = (pid_t)syscall(SYS_gettid);
	if (!error && sched_setscheduler(0, SCHED_FIFO, &param))
		error = -errno;
	if (!error)
		error = iso_start(&iso, 3000 * SEC, SEC);
	if (error)
		fprintf(stderr, "instants: isolation: %s\n", strerror(-error));
	else
		mark_target();
	state = error ? WORKER_FAILED : WORKER_RUNS;
	while (!error) {
		what = order;
		if (what == STOP)
			break;
		if (what == NOTHING)
			continue;
		follow(what);
		order = NOTHING;
	}
	if (!error)
		iso_stop(&iso);
	return NULL;
}

/* The task has done what it was told, without a system call of ours beside it. */
static bool followed(void)
{
	uint64_t end = now_ns() + 5 * SEC;

	while (order != NOTHING && now_ns() < end)
		;
	return order == NOTHING;
}

static bool tell(int what)
{
	order = what;
	return followed();
}

static struct instants_counts counts(void)
{
	struct instants_counts found;

	if (ioctl(device, INSTANTS_COUNTS, &found))
		bail_out("the module does not count");
	return found;
}

static unsigned int has_run(int kind)
{
	if (kind == NONE)
		return 0;
	return kind == INSTANTS_SIGNAL ? signals : counts().ran[kind];
}

static int request(int kind)
{
	if (kind == NONE)
		return 0;
	if (kind == INSTANTS_SIGNAL)
		return (int)syscall(SYS_tgkill, getpid(), tid, SIGUSR1);
	return ioctl(device, INSTANTS_REQUEST, kind);
}

static unsigned int now_of(int kind, const struct instants_seen *what)
{
	return kind == INSTANTS_TLB ? what->page : kind == INSTANTS_KEY ? what->key : 0;
}

/* What is counted, with @sign: before the trial off, after it on. */
static void sum(int kind, int sign)
{
	const volatile struct isolator_page *p = iso.page;
	const uint64_t now[] = {
		[R_DEFERRED] = p->deferred, [R_EXCLUDED] = p->excluded, [R_QUEUED] = p->queued,
		[R_IMMEDIATE] = p->immediate, [R_MISSED] = p->missed, [R_RAN] = has_run(kind),
		[R_BEFORE_RAN] = counts().ran[INSTANTS_BEFORE],
	};

	for (int i = R_DEFERRED; i <= R_BEFORE_RAN; i++)
		trial->results[i] += sign < 0 ? -now[i] : now[i];
}

/*
 * What waits for the task at its entry: so many requests ahead of the trial's, or a timer.  What
 * the trial before has left is taken away, which a further entry sees.
 */
static void prepare(enum path path)
{
	ioctl(device, INSTANTS_CANCEL);
	tell(LOOK);
	tell(LOOK);
	if (path == PATH_MUTED) {
		leaves = true;
		returned = true;
		tell(ENTER);
	} else if (path == PATH_DEFERRED) {
		request(INSTANTS_TEXT);
		request(INSTANTS_TLB);
	} else if (path == PATH_QUEUED) {
		request(INSTANTS_BEFORE);
	} else if (path == PATH_FAULT) {
		tell(FORGET);
	}
	leaves = path == PATH_LEAVES;
}

/*
 * It may be a timer's turn, or a thread's of the isolated CPU: the task ticks as long as one is
 * due, as it has promised.  A thread that needs longer than one tick lends it has all of them up
 * to the deadline, and so many ticks however long they take: where a host stands still between
 * them, the trial is void by its time.
 */
static void wait_for_it(int kind, unsigned int before)
{
	uint64_t begin = now_ns(), next = begin + TICK_MS * MS;
	uint64_t end = begin + PATIENCE_MS * MS, last = begin + LENT_MS * MS;
	bool waits = kind != NONE && kind >= INSTANTS_CALL;

	while (((waits && has_run(kind) == before) || iso.page->due) &&
	       (now_ns() < (iso.page->due ? last : end) ||
		(iso.page->due && trial->results[R_MORE_TICKS] < TICKS))) {
		if (!iso.page->due || now_ns() < next)
			continue;
		trial->results[R_MORE_TICKS]++;
		trial->results[R_TASK_ERROR] |= !tell(TICK);
		next = now_ns() + TICK_MS * MS;
	}
}

static void plant(const char *fault)
{
	if (put_file(FAULTS, fault))
		bail_out("the fault cannot be planted");
}

/* What a planted fault has left behind is done after all, so that the next trial begins anew. */
static void recover(const char *fault)
{
	if (!strcmp(fault, NO_FAULT))
		return;
	plant(NO_FAULT);
	request(INSTANTS_BEFORE);
	tell(LOOK);
	tell(TICK);
	sleep_ms(1);
}

static void one(enum path path, int kind, const char *fault)
{
	struct instants_counts then;
	unsigned int before;

	prepare(path);
	memset(trial->results, 0, sizeof(trial->results));
	then = counts();
	before = has_run(kind);
	sum(kind, -1);
	trial->results[R_OLD] = now_of(kind, &then.now);
	seen.page = seen.key = NOT_SEEN;
	if (strcmp(fault, NO_FAULT))
		plant(fault);
	returned = false;
	looks = 0;
	PARK(PARK_ARM);
	order = path == PATH_FAULT ? FAULT : ENTER;
	PARK(PARK_WAIT);
	PARK(PARK_BEGIN);
	trial->results[R_ERROR] = request(kind) ? (uint64_t)errno : 0;
	PARK(PARK_DONE);
	PARK(PARK_SETTLE);
	returned = true;
	trial->results[R_TASK_ERROR] = !followed();
	trial->results[R_MORE_TICKS] = looks;
	trial->results[R_SEEN] = now_of(kind, &seen);
	trial->results[R_TASK_ERROR] |= !tell(LOOK);
	trial->results[R_SEEN_LATER] = now_of(kind, &seen);
	trial->results[R_TASK_ERROR] |= !tell(TICK);
	trial->results[R_TASK_ERROR] |= task_error != 0;
	wait_for_it(kind, before);
	trial->results[R_DUE] = iso.page->due;
	then = counts();
	trial->results[R_NEW] = now_of(kind, &then.now);
	sum(kind, 1);
	PARK(PARK_END);
	recover(fault);
}

static int named(const char *name, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return i;
	return NONE;
}

static void follow_plan(const char *name)
{
	char path[16], kind[16], fault[32], line[256];
	unsigned int done = 0;
	FILE *plan = fopen(name, "r");

	if (!plan)
		bail_out("no plan");
	for (; fgets(line, sizeof(line), plan); done++) {
		int way;

		if (sscanf(line, "%" SCNu32 " %15s %15s %" SCNx64 " %" SCNx64 " %" SCNx64
			   " %" SCNu32 " %31s", &trial->trial, path, kind, &trial->hold,
			   &trial->gate, &trial->pc, &trial->nth, fault) != 8)
			bail_out("the plan has a bad line");
		way = named(path, path_names, PATHS);
		if (way < 0)
			bail_out("the plan has an unknown path");
		one((enum path)way, named(kind, kind_names, INSTANTS_KINDS), fault);
		if (iso.page->state != ISOLATOR_STATE_ON)
			bail_out("the isolation has ended");
	}
	printf("# %u trials\n", done);
	fclose(plan);
}

static void *memory(void *at)
{
	void *p = mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
		       (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (p == MAP_FAILED)
		bail_out("no memory");
	memset(p, 0, 4096);
	return p;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t thread;

	if (argc != 2) {
		fprintf(stderr, "usage: instants PLAN\n");
		return 2;
	}
	iso_require(2);
	memory((void *)PARK_PAGE);
	page = memory(NULL);
	device = open(INSTANTS_DEVICE, O_RDWR);
	if (device < 0)
		bail_out("no " INSTANTS_DEVICE ": the module lab_instants is missing");
	sigaction(SIGUSR1, &sa, NULL);
	if (pthread_create(&thread, NULL, task, NULL))
		bail_out("no thread");
	while (state == WORKER_NEW)
		sleep_ms(1);
	if (state == WORKER_FAILED)
		bail_out("the task is not isolated");
	follow_plan(argv[1]);
	order = STOP;
	pthread_join(thread, NULL);
	printf("ok 1 - the plan is done\n1..1\n");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ISOLATOR_NO_SHORT_NAMES
#include <isolator.h>

#include "base/array.h"
#include "base/wait.h"
#include "machine/affinity.h"
#include "machine/cycles.h"
#include "prove/spin.h"

#define CALIBRATION_NS UINT64_C(20000000)
#define PAUSES 8
/* The deadline that a signal must miss, the least that there is. */
#define KICK_DEADLINE_NS UINT64_C(1000000)
/* A watcher that is stopped does not keep the CPU busy for ever. */
#define WATCHER_PATIENCE_NS 30e9

static struct spin *spin;
static volatile sig_atomic_t kicked;

static void kick(int signal)
{
	(void)signal;
	kicked = 1;
}

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(spin->failure, sizeof(spin->failure), format, arguments);
	va_end(arguments);
	_exit(1);
}

/* What is typed is for the watcher; the spinner is killed, by it or with it. */
static void set_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE };
	struct sigaction action = { .sa_handler = kick };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != spin->watcher)
		_exit(1);
}

static void stay(void)
{
	int error = affinity_pin(spin->cpu);

	if (error)
		fail("cannot use CPU %d: %s. Is it online (/sys/devices/system/cpu/online), and in the cpuset of this shell (Cpus_allowed_list in /proc/self/status)?",
		     spin->cpu, strerror(error));
}

/* As far as a kernel without Isolator lets, and this user may. */
static void set_priority(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	spin->locked = !mlockall(MCL_CURRENT | MCL_FUTURE);
	if (!sched_setscheduler(0, SCHED_FIFO, &first))
		spin->how = SPIN_FIFO;
	else if (!setpriority(PRIO_PROCESS, 0, -20))
		spin->how = SPIN_NICE;
	else
		spin->how = SPIN_ORDINARY;
}

static void start(uint64_t deadline_ns)
{
	struct isolator_options options = ISOLATOR_OPTIONS_INIT;
	struct isolator_result result = ISOLATOR_RESULT_INIT;
	int achieved;

	if (!spin->isolate)
		return;
	options.deadline_ns = deadline_ns;
	achieved = isolator_start_opts(&options, &result);
	if (achieved < 0)
		fail("cannot isolate CPU %d: %s", spin->cpu, isolator_strerror(achieved));
	/* The report is about the window, not about the deliberate misses. */
	if (deadline_ns)
		return;
	spin->how = SPIN_ISOLATED;
	spin->locked = result.got & ISOLATOR_GOT_LOCKED;
	spin->mask = result.achieved;
	spin->got = result.got;
	spin->deadline_ns = result.deadline_ns;
	spin->bound_ns = result.spin_ns;
	spin->yield_ns = result.yield_ns;
}

/* The end of an isolation that had ended by itself was seen by what ended it. */
static void stop(void)
{
	int left;

	if (!spin->isolate)
		return;
	left = isolator_stop();
	if (left < 0 && left != -ECANCELED)
		fail("cannot end the isolation: %s", isolator_strerror(left));
}

static void sample_one(struct instrument *instrument, enum point point, bool user)
{
	if (instrument->type->reader == READ_BY_SPINNER && !*instrument->absent &&
	    instrument->user == user)
		instrument->type->sample(instrument, point, spin);
}

/* What enters the kernel is read outside of what does not. */
static void sample(enum point point)
{
	bool to = point % 2;

	for (int pass = 0; pass < 2; pass++) {
		for (unsigned int i = 0; i < spin->nr_instruments; i++) {
			unsigned int at = to ? spin->nr_instruments - 1 - i : i;

			sample_one(&spin->instruments[at], point, to ? !pass : pass);
		}
	}
}

/* True: the watcher lets it go on. */
static bool may_go(enum spin_step step)
{
	return __atomic_load_n(&spin->go, __ATOMIC_ACQUIRE) >= step;
}

static void reach(enum spin_step step)
{
	__atomic_store_n(&spin->at, step, __ATOMIC_RELEASE);
}

/* Without a kernel entry of its own. */
static void meet(enum spin_step step)
{
	uint64_t limit = cycles() + (uint64_t)(WATCHER_PATIENCE_NS * spin->scale.per_ns);

	reach(step);
	while (!may_go(step))
		if ((int64_t)(cycles() - limit) > 0)
			fail("the watching process does not respond: was it stopped?");
}

static void calibrate(void)
{
	uint64_t from, from_ns, to, to_ns;

	cycles_pair(&from, &from_ns);
	while (wait_clock_ns() - from_ns < CALIBRATION_NS)
		;
	cycles_pair(&to, &to_ns);
	gaps_scale_set(&spin->scale, (double)(to - from) / (double)(to_ns - from_ns),
		       spin->threshold_ns);
}

static long waits(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/*
 * A pause that the loop has to see, and a switch that the kernel has to count.  Where the timer
 * fires before the thread has left the CPU, on a busy machine's virtual one, there is none: the
 * next pause is longer.
 */
static void pause_once(void)
{
	uint64_t pause_ns = 2 * spin->threshold_ns + 100000;
	long before = waits();

	for (int i = 0; i < PAUSES && waits() == before; i++, pause_ns *= 2) {
		struct timespec nap = { (time_t)(pause_ns / 1000000000),
					(long)(pause_ns % 1000000000) };
		uint64_t from = cycles();

		nanosleep(&nap, NULL);
		gaps_look(&spin->probe, &spin->scale, from, cycles());
	}
}

/* To itself: received in a softirq of this CPU. */
static void send_once(void)
{
	struct sockaddr_in self = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (file < 0)
		return;
	/* If it cannot be sent, the instrument is one that was not seen to count. */
	sendto(file, "", 1, MSG_DONTWAIT, (struct sockaddr *)&self, sizeof(self));
	close(file);
}

static void fault_once(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	/* Locked memory is there already. */
	munlock((void *)(uintptr_t)page, size);
	madvise((void *)(uintptr_t)page, size, MADV_DONTNEED);
	*page = 1;
	munmap((void *)(uintptr_t)page, size);
}

/* The deliberate entries around which every instrument has to move. */
static void probe(enum point from, enum spin_step step)
{
	uint64_t limit;

	start(KICK_DEADLINE_NS);
	sample(from);
	meet(step);
	syscall(SYS_getppid);
	pause_once();
	send_once();
	fault_once();
	kicked = 0;
	limit = cycles() + (uint64_t)(WATCHER_PATIENCE_NS * spin->scale.per_ns);
	reach(step + 1);
	while (!kicked && (int64_t)(cycles() - limit) < 0)
		;
	spin->kicks += kicked;
	sample(from + 1);
	meet(step + 2);
	stop();
}

/* What is due; false: the isolation has ended. */
static bool tick(void)
{
	int left;

	sample(TICK_FROM);
	left = isolator_tick_now(ISOLATOR_TICK_ALL);
	sample(TICK_TO);
	if (left == -ECANCELED) {
		spin->end = isolator_page()->end;
		return false;
	}
	if (left < 0 && left != -EINTR)
		fail("a tick failed: %s", isolator_strerror(left));
	for (unsigned int i = 0; i < spin->nr_instruments; i++)
		if (spin->instruments[i].type->reader == READ_BY_SPINNER)
			instrument_own(&spin->instruments[i]);
	spin->ticks++;
	return true;
}

/* In user mode but for its own ticks, until the watcher ends it. */
static void window(void)
{
	double patience_ns = (double)spin->window_ns + WATCHER_PATIENCE_NS;
	uint64_t from, before, now, limit;
	struct gaps gaps = { 0 };

	start(0);
	sample(WINDOW_FROM);
	reach(SPIN_WINDOW);
	from = before = cycles();
	limit = from + (uint64_t)(patience_ns * spin->scale.per_ns);
	while (!may_go(SPIN_WINDOW) && (int64_t)(before - limit) < 0) {
		now = cycles();
		gaps_look(&gaps, &spin->scale, before, now);
		before = now;
		if (spin->isolate && isolator_word() != ISOLATOR_WORD_IDLE) {
			if (!tick())
				break;
			before = cycles();
		}
	}
	spin->window_cycles = before - from;
	spin->gaps = gaps;
	sample(WINDOW_TO);
	if (!may_go(SPIN_WINDOW) && !spin->end)
		fail("the watching process does not respond: was it stopped?");
	stop();
}

static void open_instruments(void)
{
	for (unsigned int i = 0; i < spin->nr_instruments; i++) {
		struct instrument *instrument = &spin->instruments[i];

		if (instrument->type->reader == READ_BY_SPINNER && instrument->type->open)
			instrument->type->open(instrument, spin);
	}
}

void spin_run(struct spin *shared)
{
	spin = shared;
	set_signals();
	stay();
	calibrate();
	open_instruments();
	if (!spin->isolate)
		set_priority();
	probe(BEFORE_FROM, SPIN_BEFORE_FROM);
	window();
	/* Where the isolation was taken away it cannot be had again. */
	if (spin->end)
		spin->isolate = false;
	probe(AFTER_FROM, SPIN_AFTER_FROM);
	reach(SPIN_DONE);
	_exit(0);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread that fills a CPU: in user mode it only reads a counter, shared
 * memory and the due word, so that whatever enters the kernel there is an
 * interruption, or a tick between its two marks.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "machine.h"
#include "marker.h"
#include "spin.h"
#include "start.h"

MARK_WINDOW_TABLE();

struct spin_shared spin;
static int device = -1;
static __thread bool spinning;

static void fail(const char *call, int error)
{
	spin.failed = call;
	atomic_store(&spin.state, error ? -error : -EIO);
}

/* As delivered the kernel allows 1 s and 100 ms: who asks for times of its own may have any. */
static void raise_limit(const char *line)
{
	int fd = open("/proc/isolator/limits", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		perror("spinner: /proc/isolator/limits");
	if (fd >= 0)
		close(fd);
}

/* 0 or errno. */
static int isolate(void)
{
	struct isolator_start_args args = {
		.size = sizeof(args), .mask = ISOLATOR_MASK_ALL,
		.deadline_ns = (uint64_t)(spin.opt.deadline_ms * 1e6),
		.spin_ns = (uint64_t)(spin.opt.spin_ms * 1e6),
		.yield_ns = (uint64_t)(spin.opt.yield_ms * 1e6),
	};
	int error;

	device = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	if (device < 0)
		return errno;
	if (spin.opt.deadline_ms)
		raise_limit("deadline_ns 3600000000000");
	if (spin.opt.spin_ms)
		raise_limit("spin_ns 1000000000");
	error = start_patiently(device, &args);
	if (error)
		return -error;
	spin.start = args;
	spin.page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
			 device, 0);
	return spin.page == MAP_FAILED ? errno : 0;
}

static void count(uint64_t now)
{
	const volatile struct isolator_page *p = spin.page;

	spin.now.cycles = now;
	if (!p)
		return;
	spin.now.page[0] = p->ticks;
	spin.now.page[1] = p->queued;
	spin.now.page[2] = p->deferred;
	spin.now.page[3] = p->excluded;
	spin.now.page[4] = p->missed;
	spin.now.page[5] = p->immediate;
	spin.now.page[6] = p->yields;
}

static void tick(void)
{
	const volatile struct isolator_page *p = spin.page;
	struct isolator_tick_args args = {
		.size = sizeof(args), .flags = ISOLATOR_TICK_ALL,
	};

	spin.now.ticks++;
	if (!p || !p->due)
		return;
	spin.now.ticks_due++;
	mark_tick_begin();
	if (syscall(SYS_ioctl, device, ISOLATOR_IOC_TICK, &args))
		spin.now.tick_errors++;
	mark_tick_end();
}

/* One deliberate kernel entry, to show that the observer counts. */
static void probe(void)
{
	mark_probe();
	syscall(SYS_getpid);
}

/* Entries that no mark announces: counted like those of others, or nothing is counted. */
static void control(void)
{
	mark_window_begin(spin.window);
	for (unsigned int i = 0; i < spin.breakpoints; i++)
		breakpoint();
	mark_window_end(spin.window);
}

/* Runs until told to quit; the probes stand outside of the window. */
static void loop(void)
{
	uint64_t next = cycles() + spin.tick_cycles;

	for (;;) {
		uint64_t now = cycles();
		uint32_t asked = atomic_load(&spin.asked);
		const volatile char *look = atomic_load(&spin.look);

		spin.now.loops++;
		if (look)
			spin.seen = *look;
		if (asked != atomic_load(&spin.done)) {
			switch (spin.command) {
			case SPIN_BEGIN:
				probe();
				tick();
				count(cycles());
				spin.begin = spin.now;
				mark_window_begin(spin.window);
				break;
			case SPIN_END:
				mark_window_end(spin.window);
				count(cycles());
				spin.notick = false;
				probe();
				break;
			case SPIN_PROBE:
				probe();
				break;
			case SPIN_CONTROL:
				control();
				break;
			case SPIN_QUIT:
				return;
			case SPIN_NONE:
				break;
			}
			atomic_store(&spin.done, asked);
			next = now + spin.tick_cycles;
		} else if (now >= next && !spin.notick) {
			next = now + spin.tick_cycles;
			tick();
		}
	}
}

static void handler(int sig)
{
	(void)sig;
	if (spinning)
		atomic_fetch_add(&spin.signals, 1);
}

/* A breakpoint of control(): it has done its work by entering the kernel. */
static void trapped(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	breakpoint_over(context);
}

static void *body(void *arg)
{
	struct sched_param param = { .sched_priority = spin.opt.prio };
	volatile char stack[64 * 1024];
	cpu_set_t set;
	int error;

	(void)arg;
	for (size_t i = 0; i < sizeof(stack); i += 4096)
		stack[i] = 1;
	spinning = true;
	spin.tid = (pid_t)syscall(SYS_gettid);
	CPU_ZERO(&set);
	CPU_SET(spin.opt.cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		fail("sched_setaffinity", errno);
		return NULL;
	}
	if (spin.opt.fifo && sched_setscheduler(0, SCHED_FIFO, &param)) {
		fail("sched_setscheduler", errno);
		return NULL;
	}
	if (spin.opt.isolate) {
		error = isolate();
		if (error) {
			fail("isolator start", error);
			return NULL;
		}
	}
	mark_target();
	probe();
	atomic_store(&spin.state, 1);
	loop();
	if (spin.opt.isolate) {
		struct isolator_stop_args args = { .size = sizeof(args) };

		if (ioctl(device, ISOLATOR_IOC_STOP, &args))
			perror("spinner: isolator stop");
	}
	atomic_store(&spin.state, 2);
	atomic_store(&spin.done, atomic_load(&spin.asked));
	return NULL;
}

int spin_start(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_sigaction = trapped;
	sa.sa_flags |= SA_SIGINFO;
	sigaction(SIGTRAP, &sa, NULL);
	spin.cycles_hz = cycles_hz();
	spin.tick_cycles = (uint64_t)(spin.opt.tick_ms * 1e-3 * (double)spin.cycles_hz);
	/* Locked memory is populated whole: a stack of 8 MiB takes its time. */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, SPIN_STACK);
	error = pthread_create(&thread, &attr, body, NULL);
	if (error) {
		spin.failed = "pthread_create";
		return -error;
	}
	pthread_detach(thread);
	while (!atomic_load(&spin.state))
		usleep(1000);
	return atomic_load(&spin.state) > 0 ? 0 : atomic_load(&spin.state);
}

bool spin_do(enum spin_command command, double timeout_s)
{
	uint32_t ask = atomic_load(&spin.asked) + 1;

	spin.command = command;
	atomic_store(&spin.asked, ask);
	for (double waited = 0; waited < timeout_s; waited += 0.001) {
		if (atomic_load(&spin.done) == ask)
			return true;
		usleep(1000);
	}
	return false;
}

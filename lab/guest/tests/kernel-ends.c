// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-ends
 * cpus: 4
 * kernel: isolator
 * timeout: 120
 * about: whatever ends a loop of the kernel that polls ends it soon, and leaves nothing behind
 */
#include <signal.h>
#include "caller.h"
#include "residue.h"

#define CPU1	"/sys/devices/system/cpu/cpu1/online"
#define DEVICE	"/dev/isolator_poll"
#define ISOLATED "isolated 1\n"

static bool isolated(void)
{
	return file_has("/proc/isolator/status", ISOLATED, NULL);
}

static void by_stop(void)
{
	caller_start(SAMPLE);
	caller_stop(SAMPLE, "stop");
}

static void by_administrator(void)
{
	caller_start(CALLER);
	ok(!put_file("/proc/isolator/cpus", "2-3"), "the administrator takes the CPU");
	ok(!isolated() && comes(caller_state(CALLER) == -ECANCELED, 5000),
	   "the loop has been told: %d", caller_state(CALLER));
	ok(caller_get(CALLER, "now_seen") == 1, "it left its section at once");
	caller_stop(CALLER, "admin");
	put_file("/proc/isolator/cpus", "1-3");
}

static void by_hotplug(void)
{
	caller_start(CALLER);
	ok(!put_file(CPU1, "0"), "the CPU goes offline");
	ok(!isolated() && comes(caller_state(CALLER) == -ECANCELED, 5000),
	   "the loop has been told: %d", caller_state(CALLER));
	ok(!put_file(CPU1, "1"), "the CPU comes back");
	caller_stop(CALLER, "hotplug");
}

/* Other CPUs come and go: the machine stops, the loop with it, and goes on. */
static void beside_stops(void)
{
	int rounds = 0;

	caller_start(CALLER);
	while (rounds < 5 && !put_file("/sys/devices/system/cpu/cpu3/online", "0") &&
	       !put_file("/sys/devices/system/cpu/cpu3/online", "1"))
		rounds++;
	ok(rounds == 5, "another CPU has gone and come %d times", rounds);
	ok(!caller_state(CALLER) && caller_polls(CALLER), "still isolated, still polling");
	ok(caller_get(CALLER, "now_seen") >= 5, "it has made room for %llu stops",
	   caller_get(CALLER, "now_seen"));
	caller_kept();
	caller_stop(CALLER, "stop");
}

/* In a system call of its own, and how that comes back: the number that rang, or -errno. */
static pid_t opener(int *answer)
{
	pid_t pid = fork();
	unsigned int rang = 0;
	int fd;

	if (pid)
		return pid;
	fd = open(DEVICE, O_RDONLY);
	if (fd < 0 || iso_pin(1))
		_exit(1);
	*answer = read(fd, &rang, sizeof(rang)) == sizeof(rang) ? (int)rang : -errno;
	_exit(0);
}

static void by_signal(int signal, const char *what)
{
	int *answer = shared_memory(4096), status = -1;
	uint64_t begin;
	pid_t pid;

	pid = opener(answer);
	if (ok(comes(isolated(), 10000), "%s: a system call has isolated CPU 1", what)) {
		begin = now_ns();
		if (signal)
			kill(pid, signal);
		else
			caller_put(SAMPLE, "doorbell", 77);
		ok(waitpid(pid, &status, 0) == pid, "%s: it came back after %lu ms", what,
		   (now_ns() - begin) / MS);
		if (signal == SIGKILL)
			ok(WIFSIGNALED(status), "%s: dead", what);
		else if (signal)
			ok(*answer == -EINTR, "%s: %s", what, strerror(-*answer));
		else
			ok(*answer == 77, "%s: read %d", what, *answer);
		ok(!isolated(), "%s: no CPU is isolated", what);
	}
	munmap(answer, 4096);
}

int main(void)
{
	struct residue before, after;

	iso_require(4);
	look(&before, 1);
	by_stop();
	by_administrator();
	by_hotplug();
	beside_stops();
	caller_load(SAMPLE, "bound_us=500000");
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = count_signal }, NULL);
	by_signal(0, "a ring");
	by_signal(SIGUSR1, "a signal");
	by_signal(SIGKILL, "SIGKILL");
	ok(module_unload(SAMPLE), "the module goes");
	look(&after, 1);
	compare(&before, &after, "afterwards");
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: limits
 * cpus: 2
 * kernel: isolator
 * timeout: 30
 * about: the administrator caps both deadlines and chooses between refusing and holding readers
 */
#include <linux/perf_event.h>
#include "../machine.h"
#include "../test.h"

#define LIMITS "/proc/isolator/limits"

/* What a start on CPU 1 comes to, in a process of its own. */
static int start(uint64_t deadline_ns, uint64_t spin_ns, uint64_t want_deadline, uint64_t want_spin)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct iso iso = { .fd = -1 };
		int error = iso_pin(1) ?: iso_start(&iso, deadline_ns, spin_ns);

		if (!error && (iso.start.deadline_ns != want_deadline ||
			       iso.start.spin_ns != want_spin))
			error = -ERANGE - 100;
		_exit(-error);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -1;
}

/* A software counter on CPU 1, for whatever runs there. */
static int count_cpu1(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

static void caps(void)
{
	ok(!start(2 * SEC, 500 * MS, 2 * SEC, 500 * MS), "2 s and 500 ms before there are caps");
	ok(!put_file(LIMITS, "deadline_ns 500000000\n") &&
	   !put_file(LIMITS, "spin_ns 20000000\n"), "caps of 500 ms and 20 ms");
	ok(file_has(LIMITS, "deadline_ns 500000000", NULL) &&
	   file_has(LIMITS, "spin_ns 20000000", NULL), "they are read back");
	ok(start(2 * SEC, 0, 0, 0) == -ERANGE, "a longer deadline: ERANGE");
	ok(start(400 * MS, 21 * MS, 0, 0) == -ERANGE, "a longer D_spin: ERANGE");
	ok(!start(0, 0, 500 * MS, 20 * MS), "the defaults obey the caps");
	ok(!start(400 * MS, 10 * MS, 400 * MS, 10 * MS), "what is below stays as asked");
	ok(!start(UINT64_MAX, 0, UINT64_MAX, 20 * MS), "strict mode keeps D_spin's cap");
	iso_raise_limits();
}

/* The time stamp counter; 0 or -errno. */
static int read_msr_cpu1(void)
{
	int fd = open("/dev/cpu/1/msr", O_RDONLY), error = 0;
	uint64_t value;

	if (fd < 0)
		return -errno;
	if (pread(fd, &value, sizeof(value), 0x10) != sizeof(value))
		error = -errno;
	close(fd);
	return error;
}

/* Did a request of this program wait, as the senders have it? */
static bool waited(void)
{
	FILE *f = fopen("/proc/isolator/senders", "r");
	bool found = false;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, " comm limits") && !strstr(line, " longest_ns 0 ");
	if (f)
		fclose(f);
	return found;
}

static void counters(void)
{
	struct worker *w = worker_new(1);

	w->tick_ms = 10;
	w->spin_ns = SEC;
	need_worker(worker_thread(w));
	ok(count_cpu1() == -EBUSY, "a counter on the isolated CPU: EBUSY");
	ok(!put_file(LIMITS, "perf queue"), "perf queue");
	ok(!count_cpu1(), "the counter waits for a tick instead");
	ok(!put_file(LIMITS, "perf refuse") && count_cpu1() == -EBUSY, "perf refuse: EBUSY again");
	ok(!IS_X86 || read_msr_cpu1() == -EBUSY, "a register of the isolated CPU: EBUSY");
	ok(!put_file(LIMITS, "msr queue") && file_has(LIMITS, "msr queue", NULL), "msr queue");
	ok(!IS_X86 || !read_msr_cpu1(), "reading the register waits for a tick instead");
	ok(!put_file(LIMITS, "msr refuse") && (!IS_X86 || read_msr_cpu1() == -EBUSY),
	   "msr refuse: EBUSY again");
	ok(file_has("/proc/isolator/stats", "cpu 1 kind call longest_ns", NULL) &&
	   !file_has("/proc/isolator/stats", "cpu 1 kind call longest_ns 0\n", NULL),
	   "something was queued");
	ok(waited(), "it was this program's");
	ok(!put_file("/proc/isolator/stats", "reset longest") &&
	   file_has("/proc/isolator/stats", "cpu 1 kind signal longest_ns 0\n", NULL),
	   "the longest waits can be reset");
	ok(!waited(), "those of senders too");
	ok(!w->missed, "no deadline miss");
	worker_end(w);
}

static int stranger(void)
{
	if (setuid(65534))
		return 1;
	return put_file(LIMITS, "perf queue") == -EACCES ? 0 : 2;
}

int main(void)
{
	static const char *const bad[] = {
		"deadline_ns", "deadline_ns 0", "deadline_ns 999999", "deadline_ns 3600000000001",
		"spin_ns 1000000001", "spin_ns x", "perf", "perf x", "msr", "msr off", "x 1",
		"x queue", "\n",
	};
	int status;
	pid_t pid;

	iso_require(2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int error = put_file(LIMITS, bad[i]);

		ok(error < 0, "\"%s\": %s", bad[i], strerror(-error));
	}
	caps();
	counters();
	pid = fork();
	if (!pid)
		_exit(stranger());
	waitpid(pid, &status, 0);
	ok(!status, "only the administrator (status %#x)", status);
	return done_testing();
}

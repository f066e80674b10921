// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "iso.h"
#include "machine.h"
#include "start.h"
#include "tap.h"

_Atomic uint64_t handled;
static double ns_per_cycle;
static uint64_t first_cycle;

uint64_t now_ns(void)
{
	return (uint64_t)((double)(cycles() - first_cycle) * ns_per_cycle);
}

void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

void spin_ms(unsigned int ms)
{
	uint64_t end = now_ns() + ms * MS;

	while (now_ns() < end)
		;
}

void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bail_out("no memory to share");
	return p;
}

void count_signal(int sig)
{
	handled++;
}

int put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		error = -errno;
	close(fd);
	return error;
}

int get_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t got = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (got < size - 1 && (n = read(fd, text + got, size - 1 - got)) > 0)
		got += (size_t)n;
	text[got] = 0;
	close(fd);
	return 0;
}

bool file_has(const char *path, const char *first, ...)
{
	FILE *f = fopen(path, "r");
	bool found = false;
	char line[1024];

	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *word = first;
		va_list ap;

		found = true;
		va_start(ap, first);
		for (; word; word = va_arg(ap, const char *))
			found = found && strstr(line, word);
		va_end(ap);
	}
	if (f)
		fclose(f);
	return found;
}

#define SIZE_KB	"/sys/kernel/tracing/buffer_size_kb"

bool can_ask_kworker(void)
{
	return !access(SIZE_KB, W_OK);
}

/* Trace buffers are resized on their own CPU. */
bool ask_kworker(void)
{
	char old[32] = "";

	return !get_file(SIZE_KB, old, sizeof(old)) &&
		!put_file(SIZE_KB, atoi(old) > 300 ? "200" : "400");
}

#ifndef __x86_64__
bool ask_flush(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}
#else
bool ask_flush(void)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	p[0] = 1;
	return !munmap(p, 4096);
}
#endif

/* A start begins with one; wants a CPU beside 0 and the worker's. */
bool ask_rcu_barrier(void)
{
	struct iso iso = { .fd = -1 };
	bool done = !iso_pin(2) && !iso_start(&iso, 0, 0) && !iso_stop(&iso);

	iso_close(&iso);
	return !iso_pin(0) && done;
}

/* Is it the row that x86 calls @name?  @text: what comes behind the row's own name. */
static bool is_row(const char *row, const char *text, const char *name)
{
#ifndef __x86_64__
	static const struct { const char *name, *text; } own[] = {
		{ "LOC", " arch_timer" }, { "RES", "Rescheduling interrupts" },
		{ "CAL", "Function call interrupts" }, { "IWI", "IRQ work interrupts" },
		{ "NMI", "CPU backtrace interrupts" },
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(name, own[i].name))
			return strstr(text, own[i].text);
#endif
	(void)text;
	return !strcmp(row, name);
}

static long long interrupt_rows(const char *name, int cpu)
{
	FILE *f = fopen("/proc/interrupts", "r");
	long long sum = name ? -1 : 0;
	char line[2048];

	if (!f || !fgets(line, sizeof(line), f))
		bail_out("no /proc/interrupts");
	while (fgets(line, sizeof(line), f)) {
		char *at = strchr(line, ':'), *end;
		const char *row = line + strspn(line, " ");

		if (!at)
			continue;
		*at++ = 0;
		if (name && !is_row(row, at, name))
			continue;
		for (int i = 0; i <= cpu; i++, at = end) {
			long long n = strtoll(at, &end, 10);

			if (end == at)
				break;
			if (i == cpu)
				sum = name ? n : sum + n;
		}
	}
	fclose(f);
	return sum;
}

long long interrupts(const char *name, int cpu)
{
	return interrupt_rows(name, cpu);
}

long long interrupts_more(const char *name, int cpu, long long many)
{
	long long before = interrupts(name, cpu), more = 0;

	for (int i = 0; i < 50 && more <= many; i++) {
		sleep_ms(100);
		more = interrupts(name, cpu) - before;
	}
	return more;
}

long long interrupts_all(int cpu)
{
	return interrupt_rows(NULL, cpu);
}

int iso_raise_limits(void)
{
	return put_file("/proc/isolator/limits", "deadline_ns 3600000000000") ?:
		put_file("/proc/isolator/limits", "spin_ns 1000000000");
}

void iso_require(int cpus)
{
	char list[32];

	setvbuf(stdout, NULL, _IOLBF, 0);
	first_cycle = cycles();
	ns_per_cycle = 1e9 / (double)cycles_hz();
	if (access("/proc/isolator/cpus", F_OK))
		bail_out("no /proc/isolator: this kernel has no Isolator");
	if (sysconf(_SC_NPROCESSORS_ONLN) < cpus) {
		snprintf(list, sizeof(list), "needs %d CPUs", cpus);
		bail_out(list);
	}
	snprintf(list, sizeof(list), "1-%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
	if (put_file("/proc/isolator/cpus", list))
		bail_out("cannot write /proc/isolator/cpus");
	if (iso_raise_limits())
		bail_out("cannot write /proc/isolator/limits");
	if (iso_pin(0))
		bail_out("cannot run on CPU 0");
	if (!IS_X86)	/* for ask_flush(): it calls all CPUs itself, so before a worker runs */
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

int iso_pin_task(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(tid, sizeof(set), &set) ? -errno : 0;
}

int iso_pin(int cpu)
{
	return iso_pin_task(0, cpu);
}

int iso_start_as(struct iso *iso, struct isolator_start_args asked)
{
	void *page;
	int error;

	asked.size = sizeof(asked);
	iso->fd = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	if (iso->fd < 0)
		return -errno;
	error = start_patiently(iso->fd, &asked);
	if (error)
		return error;
	iso->start = asked;
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, iso->fd, 0);
	iso->page = page == MAP_FAILED ? NULL : page;
	return page == MAP_FAILED ? -errno : 0;
}

int iso_start(struct iso *iso, uint64_t deadline_ns, uint64_t spin_ns)
{
	return iso_start_as(iso, (struct isolator_start_args){
		.mask = ISOLATOR_MASK_ALL, .deadline_ns = deadline_ns, .spin_ns = spin_ns,
	});
}

void iso_close(struct iso *iso)
{
	if (iso->page)
		munmap((void *)iso->page, 4096);
	if (iso->fd >= 0)
		close(iso->fd);
}

int iso_tick(const struct iso *iso, struct isolator_tick_args *args)
{
	struct isolator_tick_args own = { 0 };

	if (!args)
		args = &own;
	args->size = sizeof(*args);
	args->flags = ISOLATOR_TICK_ALL;
	return ioctl(iso->fd, ISOLATOR_IOC_TICK, args) ? -errno : 0;
}

int iso_stop(const struct iso *iso)
{
	struct isolator_stop_args args = { .size = sizeof(args) };

	return ioctl(iso->fd, ISOLATOR_IOC_STOP, &args) ? -errno : 0;
}

void show_deliveries(void)
{
	char text[8192];

	if (get_file("/proc/isolator/deliveries", text, sizeof(text)))
		return;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		diag("%s", line);
}

unsigned int guest_slower(void)
{
	const char *text = getenv("SLOWER");
	int times = text ? atoi(text) : 1;

	return times > 1 ? (unsigned int)times : 1;
}

bool wait_for(_Atomic uint64_t *value, uint64_t want, unsigned int ms)
{
	return comes(*value >= want, ms);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes on beside those that are isolated: a thread of the same process takes memory away
 * that the isolated one may use, and the machine makes requests of all its CPUs.
 */
#ifndef LAB_FUZZ_BESIDE_H
#define LAB_FUZZ_BESIDE_H

#include <linux/perf_event.h>
#include "../modules.h"
#include "clocks.h"
#include "fuzz-common.h"

/* Memory of any size up to 2 MiB, and what may become of it, or of a part. */
static inline void any_memory(void)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_COLD, MADV_PAGEOUT, MADV_HUGEPAGE,
		MADV_NOHUGEPAGE, MADV_MERGEABLE, MADV_POPULATE_WRITE,
	};
	size_t size = 4096UL << pick(10), part = 4096UL * (1 + pick((uint32_t)(size / 4096)));
	int flags = MAP_ANONYMOUS | (pick(4) ? MAP_PRIVATE : MAP_SHARED);
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0), *moved;

	if (answered(MEMORY, p == MAP_FAILED ? -1 : 0))
		return;
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	switch (pick(6)) {
	case 0:
	case 1:
		answered(MEMORY, madvise(p, part, advice[pick(8)]));
		break;
	case 2:
		answered(MEMORY, mprotect(p, part, (int)pick(4)));
		break;
	case 3:
		answered(MEMORY, munmap(p, part));
		break;
	case 4:
		moved = mremap(p, size, size * 2, MREMAP_MAYMOVE);
		answered(MEMORY, moved == MAP_FAILED ? -1 : 0);
		if (moved != MAP_FAILED)
			munmap(moved, size * 2);
		return;
	}
	answered(MEMORY, munmap(p, size));
}

/* Until its process ends; sometimes a child begins with a copy of all. */
static inline void *neighbour(void *stream)
{
	pid_t pid;

	seeded((uintptr_t)stream);
	iso_pin(0);
	for (;;) {
		any_memory();
		if (pick(20))
			continue;
		pid = fork();
		if (!pid)
			_exit(0);
		if (!answered(FORK, pid))
			waitpid(pid, NULL, 0);
		sleep_ms(pick(3));	/* sleep: others are on this CPU */
	}
	return NULL;
}

static inline void begin_neighbour(uint64_t stream)
{
	pthread_t thread;

	pthread_create(&thread, NULL, neighbour, (void *)(uintptr_t)(stream + 500000));
}

static inline void ask_perf(void)
{
	struct perf_event_attr attr = {
		.type = pick(2) ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		.size = sizeof(attr), .config = pick(2),	/* its clocks */
	};
	int cpu = (int)pick((uint32_t)fuzz_cpus);
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

	answered(PERF, fd);
	if (fd >= 0)
		close(fd);
}

static inline void ask_msr(void)
{
	char path[32];
	uint64_t value;
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%u/msr", pick((uint32_t)fuzz_cpus));
	fd = open(path, O_RDONLY);
	if (fd < 0) {
		answered(MSR, -1);
		return;
	}
	answered(MSR, pread(fd, &value, sizeof(value), 0x10));	/* the TSC's */
	close(fd);
}

/* All CPUs stop for it; back at once, as other clocks are slow to read. */
static inline void ask_clock(void)
{
	if (!clocks[1][0])
		return;
	answered(CLOCK, put_file(CLOCKS "current_clocksource", clocks[1]));
	answered(CLOCK, put_file(CLOCKS "current_clocksource", clocks[0]));
}

/*
 * Something that concerns each CPU, or @pid.  Nothing that patches text: within an hour the
 * emulator would execute a breakpoint that is gone (lab/observer/stale.c).  So the module
 * lab_keys keeps the static keys on.
 */
static inline void any_request(pid_t pid)
{
	cpu_set_t set;

	switch (pick(4)) {
	case 0:
		ask_perf();
		break;
	case 1:
		ask_msr();
		break;
	case 2:
		ask_clock();
		break;
	case 3:
		CPU_ZERO(&set);
		CPU_SET(pick((uint32_t)fuzz_cpus), &set);
		CPU_SET(pick((uint32_t)fuzz_cpus), &set);
		answered(AFFINITY, sched_setaffinity(pid, sizeof(set), &set));
	}
}

static inline void begin_requests(void)
{
	if (!module_load("lab_keys"))
		bail_out("no module lab_keys: it comes with kernel/build");
	if (!two_clocks())
		diag("there is one clocksource only");
}

/* What any_request() has changed is as it was. */
static inline void end_requests(void)
{
	put_file(CLOCKS "current_clocksource", clocks[0]);
	if (!module_unload("lab_keys"))
		bail_out("lab_keys is still loaded");
}

#endif

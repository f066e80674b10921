// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cpulist.h"
#include "base/file.h"
#include "machine/counter.h"

#define PMUS "/sys/bus/event_source/devices"
#define TYPE_SHIFT 32		/* of the PMU in the config of a generic event */
#define ARM_LONG 1		/* config1 of an arm64 counter: 64 bits, */
#define ARM_USER 2		/* and readable in user mode */

/* Cores of several kinds have a PMU each, which lists its CPUs. */
static bool counts_on(const char *pmu, int cpu)
{
	struct cpulist cpus;
	char text[256];

	return file_word(text, sizeof(text), PMUS "/%s/cpus", pmu) &&
		cpulist_parse(text, &cpus) && cpulist_has(&cpus, cpu);
}

uint32_t counter_pmu(int cpu)
{
	uint32_t type = PERF_TYPE_RAW;
	DIR *pmus = opendir(PMUS);
	struct dirent *pmu;

	while (pmus && (pmu = readdir(pmus))) {
		char text[32];

		if (*pmu->d_name != '.' && counts_on(pmu->d_name, cpu) &&
		    file_word(text, sizeof(text), PMUS "/%s/type", pmu->d_name))
			type = (uint32_t)strtoul(text, NULL, 10);
	}
	if (pmus)
		closedir(pmus);
	return type;
}

static int open_event(struct perf_event_attr *attr)
{
	return (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int counter_open(struct counter *counter, uint32_t type, uint64_t config, bool kernel_only)
{
	/* The better one first: older CPUs have no counters of 64 bits, older kernels neither. */
	static const uint64_t ways[] = {
#ifdef __aarch64__
		ARM_LONG | ARM_USER, ARM_USER,
#endif
		0
	};
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		/* Always counting, or not at all: no turns with others. */
		.pinned = 1,
		.exclude_user = kernel_only,
		.exclude_hv = kernel_only,
	};
	void *page;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		attr.config1 = ways[i];
		counter->file = open_event(&attr);
		if (counter->file >= 0)
			break;
	}
	counter->page = NULL;
	if (counter->file < 0)
		return errno;
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, counter->file,
		    0);
	if (page != MAP_FAILED)
		counter->page = page;
	return 0;
}

int counter_open_instructions(struct counter *counter, int cpu)
{
	uint32_t type = counter_pmu(cpu);
	int error;

	if (type != PERF_TYPE_RAW) {
		error = counter_open(counter, PERF_TYPE_HARDWARE,
				     PERF_COUNT_HW_INSTRUCTIONS | (uint64_t)type << TYPE_SHIFT,
				     true);
		/* A kernel that knows no PMU in there. */
		if (error != ENOENT && error != EINVAL)
			return error;
	}
	return counter_open(counter, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true);
}

void counter_close(struct counter *counter)
{
	if (counter->page)
		munmap((void *)(uintptr_t)counter->page, (size_t)sysconf(_SC_PAGESIZE));
	close(counter->file);
}

#if defined(__x86_64__)
static bool read_register(uint32_t index, uint64_t *count)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (index));
	*count = (uint64_t)high << 32 | low;
	return true;
}
#elif defined(__aarch64__)
#define EVENT_COUNTER(n) \
	case n: \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r" (*count)); \
		return true

/* The number is part of the instruction. */
static bool read_register(uint32_t index, uint64_t *count)
{
	switch (index) {
	EVENT_COUNTER(0); EVENT_COUNTER(1); EVENT_COUNTER(2); EVENT_COUNTER(3);
	EVENT_COUNTER(4); EVENT_COUNTER(5); EVENT_COUNTER(6); EVENT_COUNTER(7);
	EVENT_COUNTER(8); EVENT_COUNTER(9); EVENT_COUNTER(10); EVENT_COUNTER(11);
	EVENT_COUNTER(12); EVENT_COUNTER(13); EVENT_COUNTER(14); EVENT_COUNTER(15);
	EVENT_COUNTER(16); EVENT_COUNTER(17); EVENT_COUNTER(18); EVENT_COUNTER(19);
	EVENT_COUNTER(20); EVENT_COUNTER(21); EVENT_COUNTER(22); EVENT_COUNTER(23);
	EVENT_COUNTER(24); EVENT_COUNTER(25); EVENT_COUNTER(26); EVENT_COUNTER(27);
	EVENT_COUNTER(28); EVENT_COUNTER(29); EVENT_COUNTER(30);
	default:
		return false;
	}
}
#endif

bool counter_read_user(const void *page, uint64_t *count)
{
	const volatile struct perf_event_mmap_page *counter = page;
	uint64_t value, offset;
	uint32_t lock, index;
	unsigned int unused;

	if (!page)
		return false;
	do {
		lock = counter->lock;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		index = counter->index;
		offset = (uint64_t)counter->offset;
		unused = 64U - counter->pmc_width;
		if (!counter->cap_user_rdpmc || !index || unused > 63)
			return false;
		if (!read_register(index - 1, &value))
			return false;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (counter->lock != lock);
	/* The register's top bit is a sign, as the kernel counts from below 0. */
	*count = offset + (uint64_t)((int64_t)(value << unused) >> unused);
	return true;
}

bool counter_read(int file, uint64_t *count)
{
	return read(file, count, sizeof(*count)) == sizeof(*count);
}

const char *counter_error(int error)
{
	switch (error) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
	case ENXIO:
	case EINVAL:
		return "there is no such counter (no PMU)";
	case EACCES:
	case EPERM:
		return "counting in the kernel is not allowed to this user: run it as root, or sysctl kernel.perf_event_paranoid=1";
	case EBUSY:
		return "somebody else has it: end other users of perf, also the NMI watchdog (sysctl kernel.nmi_watchdog=0)";
	case ENOSYS:
		return "the kernel is built without CONFIG_PERF_EVENTS";
	default:
		return strerror(error);
	}
}

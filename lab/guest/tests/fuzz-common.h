/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of fuzz share: choices from a seed, and what was asked with what answer. */
#ifndef LAB_FUZZ_COMMON_H
#define LAB_FUZZ_COMMON_H

#include "../test.h"

enum { FUZZERS = 4, VICTIMS = 6, ANSWERS = 134 };

#define GROUP	"/sys/fs/cgroup/lab-fuzz"

/* What is counted: a row for each request or file, a column for each errno. */
static const char *const fuzz_names[] = {
	"no ioctl", "START", "TICK", "STOP", "START_TASK", "STOP_TASK", "mmap", "madvise",
	"start", "tick", "stop", "cpus", "limits", "stats", "status", "deliveries", "senders",
	"cpuset", "hot-plug", "ptrace", "fork", "signal", "pin", "memory", "perf", "msr",
	"clocksource", "affinity",
};
enum {
	NO_IOCTL, FIRST_IOCTL, MMAP = 6, MADVISE, FIRST_FILE, CPUSET = 17, HOTPLUG, PTRACE,
	FORK, SIGNAL, PIN, MEMORY, PERF, MSR, CLOCK, AFFINITY, ROWS,
};

/* Shared with the processes that it makes. */
static _Atomic uint64_t (*answers)[ANSWERS];
static uint64_t fuzz_seed;
static int fuzz_cpus;
static __thread uint64_t rng;

static inline uint32_t pick(uint32_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 16) % below;
}

static inline void seeded(uint64_t stream)
{
	rng = (fuzz_seed + stream + 1) * 0x9e3779b97f4a7c15ULL | 1;
}

/* Those that end by a signal end by SIGKILL: any other says that something harmed them. */
static int fuzz_harmed;

static inline void gone(pid_t pid, int status)
{
	if (!WIFSIGNALED(status) || WTERMSIG(status) == SIGKILL)
		return;
	fuzz_harmed++;
	diag("%d died of %s", pid, strsignal(WTERMSIG(status)));
}

/* @result: what a system call returned, errno with it, or -errno. */
static inline int answered(int row, long result)
{
	int error = result >= 0 ? 0 : result == -1 ? errno : (int)-result;

	answers[row][error < ANSWERS ? error : ANSWERS - 1]++;
	return error;
}

static inline uint64_t taken(int from, int to, bool all)
{
	uint64_t sum = 0;

	for (int row = from; row < to; row++)
		for (int e = 0; e < (all ? ANSWERS : 1); e++)
			sum += answers[row][e];
	return sum;
}

/* Not every kernel and machine has what these ask for. */
static inline bool may_be_refused(int row)
{
	return row == NO_IOCTL || row == PERF || row == MSR || row == CLOCK;
}

/*
 * There were some hundreds of requests, 20 a second, and each was taken once at least.  In the
 * few seconds of a short run that holds for the device's requests only.
 */
static inline bool enough(unsigned int seconds)
{
	int to = seconds < 60 ? MMAP : ROWS;

	for (int row = NO_IOCTL; row < to; row++) {
		if (!may_be_refused(row) && !answers[row][0])
			return false;
	}
	return taken(NO_IOCTL, ROWS, true) > 200 + 20 * seconds;
}

#endif

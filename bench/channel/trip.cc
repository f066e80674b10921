// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes, time and figures of the measurement. */
#include "trip.hh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <csignal>
#include <ctime>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A peer that loses a message leaves both sides waiting: nobody waits longer. */
static constexpr unsigned LIMIT_S = 60;

void fail(const char *what)
{
	std::fprintf(stderr, "channel-trip: %s\n", what);
	std::_Exit(1);
}

void *shared_memory(std::size_t bytes)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);
	void *memory;

	if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) < 0)
		fail("no shared memory");
	memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		fail("no shared memory");
	close(fd);
	/* Every page there before it counts. */
	std::memset(memory, 0, bytes);
	return memory;
}

void become_side(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(static_cast<std::size_t>(cpu), &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		fail("cannot run on the CPU asked for; see --cpus and taskset -p $$");
	alarm(LIMIT_S);
}

std::uint64_t now_ns()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return std::uint64_t(now.tv_sec) * 1000000000U + std::uint64_t(now.tv_nsec);
}

double percentile(std::vector<std::uint64_t> &values, std::uint32_t above)
{
	auto at = values.begin() + std::ptrdiff_t(rank_from_least(values.size(), above) - 1);

	std::nth_element(values.begin(), at, values.end());
	return double(*at);
}

Result run(const Options &options, void (*child)(void *, const Options &),
	   Result (*parent)(void *, const Options &), void *what)
{
	Result result;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		fail("cannot fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		become_side(options.cpus[1]);
		child(what, options);
		_exit(0);
	}
	become_side(options.cpus[0]);
	result = parent(what, options);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		fail("the other process failed");
	return result;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threads: eight threads.  The one named control computes, reads the clock and hands its
 * samples over by a mutex, and never waits; the others do what interrupts it elsewhere: they
 * map, protect and unmap memory, give some back, start processes and threads, and write
 * files.  SIGTERM ends it, SIGUSR1 is a wish for a report.
 */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t mapped = 64 * 4096;
std::atomic<bool> over{false};
std::mutex lock;
std::vector<double> samples;
/* Between two looks of control at the clock. */
double longest_ms;
std::atomic<unsigned long long> rounds{0}, taken{0}, flushes{0}, children{0}, written{0};

[[noreturn]] void fail(const char *what)
{
	std::perror(what);
	std::_Exit(1);
}

void name(const char *text)
{
	pthread_setname_np(pthread_self(), text);
}

void pause_for(int ms)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

/* What it holds is of bounded size: after a while nothing more is asked of the kernel. */
void control()
{
	std::map<unsigned, std::unique_ptr<std::string>> table;
	unsigned chance = 12345;
	double level = 0;
	auto last = Clock::now();

	name("control");
	while (!over.load(std::memory_order_relaxed)) {
		auto now = Clock::now();

		if (now < last)
			fail("time went backwards");
		if (rounds > 0)
			longest_ms = std::max(longest_ms, std::chrono::duration<double,
					      std::milli>(now - last).count());
		last = now;
		for (int i = 0; i < 200; i++) {
			chance = chance * 1664525 + 1013904223;
			level += 0.01 * ((chance >> 16) % 1000 / 1000.0 - level);
		}
		auto &entry = table[(chance >> 8) % 128];
		if (entry && entry->find_first_not_of(entry->front()) != std::string::npos)
			fail("a string has changed");
		entry = std::make_unique<std::string>(1 + (chance >> 20) % 512,
						      static_cast<char>('a' + chance % 26));
		if (lock.try_lock()) {
			if (samples.size() < 1024)
				samples.push_back(level);
			lock.unlock();
		}
		rounds.fetch_add(1, std::memory_order_relaxed);
	}
}

/* Takes what control has made. */
void worker(int number)
{
	name(("worker-" + std::to_string(number)).c_str());
	while (!over) {
		double sum = 0;

		pause_for(5);
		std::lock_guard<std::mutex> guard(lock);
		for (double sample : samples)
			sum += sample;
		taken += samples.size();
		samples.clear();
		if (sum < 0)
			fail("sum");
	}
}

/* Its unmapping and protecting wait for control, each time. */
void mapper()
{
	name("mapper");
	while (!over) {
		void *memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		auto *bytes = static_cast<volatile char *>(memory);

		if (memory == MAP_FAILED)
			fail("mmap");
		for (size_t i = 0; i < mapped; i += 4096)
			bytes[i] = 1;
		/*
		 * Locked memory, as that of an isolated process is, is not given back so; the
		 * isolation may begin, and lock it, between these two.
		 */
		munlock(memory, mapped);
		if (madvise(memory, mapped / 2, MADV_DONTNEED) && errno != EINVAL)
			fail("madvise");
		if (mprotect(memory, mapped, PROT_READ) || munmap(memory, mapped))
			fail("mapper");
		flushes++;
		pause_for(100);
	}
}

/* A process of its own, by fork: all private memory is shared for a moment. */
void starter()
{
	name("starter");
	while (!over) {
		int status = -1;
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (!pid) {
			execl("/bin/true", "true", nullptr);
			_exit(1);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			fail("child");
		children++;
		pause_for(500);
	}
}

void writer()
{
	name("writer");
	while (!over) {
		FILE *file = std::tmpfile();
		std::vector<char> block(100000, 'x');

		if (!file || std::fwrite(block.data(), 1, block.size(), file) != block.size() ||
		    std::fclose(file))
			fail("writer");
		written++;
		pause_for(50);
	}
}

} // namespace

int main()
{
	std::vector<std::thread> threads;
	int reports = 0, number = 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, nullptr);
	samples.reserve(1024);
	threads.emplace_back(control);
	for (int i = 1; i <= 3; i++)
		threads.emplace_back(worker, i);
	threads.emplace_back(mapper);
	threads.emplace_back(starter);
	threads.emplace_back(writer);
	std::puts("ready");
	std::fflush(stdout);
	while (!sigwait(&set, &number) && number == SIGUSR1)
		reports++;
	over = true;
	for (auto &thread : threads)
		thread.join();
	std::printf("{\"rounds\": %llu, \"reports\": %d, \"taken\": %llu, \"flushes\": %llu, "
		    "\"children\": %llu, \"written\": %llu, \"longest_ms\": %.3f}\n",
		    rounds.load(), reports, taken.load(), flushes.load(), children.load(),
		    written.load(), longest_ms);
	return !taken || !flushes || !children || !written;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-section
 * cpus: 4
 * kernel: isolator-faults
 * timeout: 240
 * alone: yes
 * append: irqaffinity=0
 * about: planted faults: what a quiet section of the kernel needs of the kernel is missing
 * dmesg: WARNING: .* __isolator_user_exit\+|Call [Tt]race:
 * dmesg: isolator: CPU 1 is overdue
 */
#include "caller.h"
#include "fault.h"
#include "gate.h"
#include "../machine.h"

/* No interrupt of a device could come to CPU 1: the section would be left for that now and then. */
enum { TRIES = 5, MOST_TRIES = 15 };
enum { ENOUGH_MS = 3000 };	/* in any guest: with the fault, something else comes later */

static bool grace_passes(void)
{
	bool passes;

	caller_start(CALLER);
	passes = grace_passes_by(TRIES);
	ok(module_unload(CALLER), "it goes");
	return passes;
}

/*
 * A section learns of each stop of the machine, and stops.  It also learns of what else comes, so
 * that once is no proof, and of anybody who has waited for longer than the bound: where a busy host
 * stood still, nothing is shown.
 */
static bool stop_is_told(void)
{
	int shown = 0;
	bool told = true;

	for (int i = 0; i < MOST_TRIES && shown < TRIES && told; i++) {
		unsigned long long seen;
		bool missed, saw;

		caller_start(CALLER);
		seen = caller_get(CALLER, "now_seen");
		/* Nothing else than that: hot-plug has more for each CPU. */
		if (put_file(STOPS, "3"))
			bail_out("stopping the machine");
		saw = caller_get(CALLER, "now_seen") > seen;
		missed = caller_missed();
		ok(module_unload(CALLER), "it goes");
		if (missed) {
			diag("not counted: somebody waited for longer than %d ms", BOUND_MS);
			continue;
		}
		shown++;
		told = saw;
	}
	if (told && shown < TRIES)
		bail_out("a deadline miss in most tries");
	return told;
}

/* What is still to come when the section did not see what it should: something else that is due. */
static void release(pid_t pid)
{
	if (!ask_kworker())
		bail_out("nothing asks CPU 1");
	until(waitpid(pid, NULL, WNOHANG) == pid);
}

/* Nothing comes to CPU 1, as it is in a section. */
static bool rests(void)
{
	long long all = interrupts_all(1);

	sleep_ms(300);	/* sleep: nothing comes meanwhile */
	return interrupts_all(1) == all;
}

/* A task that is killed in its system call leaves the section. */
static bool kill_is_told(void)
{
	unsigned int rang = 0;
	bool told;
	pid_t pid;

	caller_load(SAMPLE, "bound_us=1000000");
	pid = fork();
	if (!pid) {
		int fd = open("/dev/isolator_poll", O_RDONLY);

		_exit(fd < 0 || iso_pin(1) || read(fd, &rang, sizeof(rang)) < 0);
	}
	until(file_has("/proc/isolator/status", "isolated 1\n", NULL));
	until(rests());
	kill(pid, SIGKILL);
	told = comes_within(waitpid(pid, NULL, WNOHANG) == pid, ENOUGH_MS);
	if (!told)
		release(pid);
	ok(module_unload(SAMPLE), "it goes");
	return told;
}

/* A thread learns that it must stop. */
static bool end_is_told(void)
{
	bool told;
	pid_t pid;

	caller_start(CALLER);
	pid = fork();
	if (!pid)
		_exit(!module_unload(CALLER));
	told = comes_within(waitpid(pid, NULL, WNOHANG) == pid, ENOUGH_MS);
	if (!told)
		release(pid);
	return told;
}

/* A thread that is to park as it goes to its section does so, though nothing wakes it up. */
static bool park_is_told(void)
{
	bool told;
	pid_t pid;

	caller_start(CALLER);
	caller_put(CALLER, "fault_ms", 500);
	caller_put(CALLER, "fault", FAULT_SLOW);
	until(ask_kworker() && !caller_get(CALLER, "fault"));
	pid = fork();
	if (!pid)
		_exit(put_file("/dev/" CALLER, "park") != 0);
	told = comes_within(waitpid(pid, NULL, WNOHANG) == pid, ENOUGH_MS);
	if (!told)
		release(pid);
	ok(!caller_state(CALLER) && caller_polls(CALLER), "it goes on, isolated");
	ok(module_unload(CALLER), "it goes");
	return told;
}

/* Text that was changed meanwhile is synchronised with as the section is left. */
static bool text_is_synced(void)
{
	unsigned long long stays, deferred;
	int log = kernel_log();
	bool warned;

	caller_start(CALLER);
	put_file("/proc/sys/kernel/sched_schedstats", "1");
	put_file("/proc/sys/kernel/sched_schedstats", "0");
	deferred = counted("cpu 1 total", " deferred ");
	stays = caller_get(CALLER, "stays");
	until(ask_kworker() && caller_get(CALLER, "stays") > stays);
	warned = kernel_warned(log);
	ok(module_unload(CALLER), "it goes");
	diag("%llu deferred", deferred);
	return deferred > 0 && !warned;
}

/* The module may be half there. */
static bool has_started(void)
{
	char text[64];

	return !get_file("/sys/module/" CALLER "/parameters/started", text, sizeof(text)) &&
	       !strcmp(text, "0\n");
}

/* Page tables that CPU 1 has borrowed are freed without it. */
static bool tables_are_freed(void)
{
	const size_t large = 2 << 20, size = 32 * large;
	const char *flush = "cpu 1 callback flush_tlb_func";
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long long queued;
	pid_t pid;

	if (memory == MAP_FAILED || iso_pin(1))
		bail_out("memory, on CPU 1");
	madvise(memory, size, MADV_NOHUGEPAGE);	/* fails where there are none: PREEMPT_RT */
	for (size_t i = 0; i < size; i += large)
		memory[i] = 1;
	pid = fork();
	if (!pid)
		_exit(iso_pin(0) || !module_load(CALLER " cpu=1 bound_us=1000000"));
	/* No sleep: when the thread begins, this is what it comes after. */
	while (!has_started())
		;
	if (iso_pin(0) || waitpid(pid, NULL, 0) != pid)
		bail_out("back to CPU 0");
	until(caller_polls(CALLER));
	queued = counted(flush, " queued ");
	munmap(memory, size);
	queued = counted(flush, " queued ") - queued;
	ok(module_unload(CALLER), "it goes");
	diag("%llu flushes were sent", queued);
	return !queued;
}

static bool tables_are_always_freed(void)
{
	bool freed = true;

	for (int i = 0; i < TRIES; i++)
		freed &= tables_are_freed();
	return freed;
}

int main(void)
{
	iso_require(4);
	stops_require();
	without_fault(grace_passes);
	plant("watch_section", grace_passes);
	without_fault(stop_is_told);
	plant("fence_section", stop_is_told);
	plant("late_stopper", stop_is_told);
	without_fault(kill_is_told);
	plant("no_now", kill_is_told);
	without_fault(end_is_told);
	plant("no_kick", end_is_told);
	without_fault(park_is_told);
	plant("miss_park", park_is_told);
	/* arm64 synchronises at each entry, and the hardware flushes for all CPUs. */
	if (IS_X86) {
		without_fault(text_is_synced);
		plant("skip_deferred", text_is_synced);
		without_fault(tables_are_always_freed);
		plant("borrow_tables", tables_are_always_freed);
	}
	return done_testing();
}

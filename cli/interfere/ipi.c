// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the kernel interrupt other CPUs, in three ways: membarrier(2), which asks each CPU
 * where a thread of this process runs; TLB shootdowns, as mprotect(2) and munmap(2) have
 * to take a page away from each of those; wake-ups of a thread that sleeps there.  On
 * arm64 the processor itself tells the others of a page, without an interrupt.
 *
 * One process, as all of that is among its threads: on each CPU of the load one that sends,
 * on each other target one that only is there, and on each target one that sleeps.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>
#include <linux/membarrier.h>

#include "base/error.h"
#include "base/text.h"
#include "interfere/work.h"

enum kind { MEMBARRIER, SHOOTDOWN, WAKEUP };

static const char *const variants[] = {
	[MEMBARRIER] = "membarrier", [SHOOTDOWN] = "tlb", [WAKEUP] = "wakeup",
};

/* A thread that is woken: on a cache line of its own. */
struct sleeper {
	struct work *work;
	int cpu;
	unsigned int word;
} __attribute__((aligned(128)));

struct sender {
	struct work *work;
	struct work_slot *slot;
	struct sleeper *sleepers;
	size_t count;
};

static bool wants(const struct work *work, enum kind kind)
{
	return !*work->variant || !strcmp(work->variant, variants[kind]);
}

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

static char *missing(const char *variant)
{
	if (*variant && strcmp(variant, variants[MEMBARRIER]))
		return NULL;
	if (membarrier(MEMBARRIER_CMD_QUERY) & MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		return NULL;
	return text_format("this kernel has no membarrier (CONFIG_MEMBARRIER); ipi:tlb and ipi:wakeup do without");
}

static int settle(struct work *work)
{
	struct cpulist *targets = &work->targets;
	char *list;

	*targets = work->order.targets.given ? work->order.targets : work->order.cpus;
	/* Who sends from a CPU needs another one to interrupt. */
	for (size_t i = 0; i < work->shared->count; i++) {
		struct cpulist here = { 0 };

		cpulist_add(&here, work->shared->slots[i].cpu);
		if (!cpulist_within(targets, &here))
			continue;
		error_say("ipi: it interrupts other CPUs than the one that it runs on: give it two CPUs (-c 0-1), or whom to interrupt (--to)");
		return -1;
	}
	list = cpulist_text(targets);
	work->words = text_format("interrupts CPU %s by %s%s%s", list,
				  wants(work, MEMBARRIER) ? "membarrier" : "",
				  wants(work, SHOOTDOWN) ? *work->variant ?
				  "TLB shootdowns (mprotect, munmap)" :
				  ", TLB shootdowns (mprotect, munmap)" : "",
				  wants(work, WAKEUP) ? *work->variant ? "wake-ups of threads there" :
				  " and wake-ups of threads there" : "");
	free(list);
	return 0;
}

static void *sleep_there(void *argument) __attribute__((noreturn));

static void *sleep_there(void *argument)
{
	struct sleeper *sleeper = argument;

	work_pin(sleeper->work, sleeper->cpu);
	for (;;) {
		unsigned int word = __atomic_load_n(&sleeper->word, __ATOMIC_RELAXED);

		syscall(SYS_futex, &sleeper->word, FUTEX_WAIT_PRIVATE, word, NULL, NULL, 0);
	}
}

/* In user mode: there it is interrupted by membarrier and for TLBs. */
static void *be_there(void *argument) __attribute__((noreturn));

static void *be_there(void *argument)
{
	struct sleeper *sleeper = argument;

	work_pin(sleeper->work, sleeper->cpu);
	for (;;)
		__asm__ volatile("" : : : "memory");
}

/* Two shootdowns: the page loses a right, and then goes. */
static void shoot(const struct sender *sender, size_t page)
{
	volatile char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		work_fail(sender->work, "no page to take away: %s", strerror(errno));
	*memory = 1;
	if (!mprotect((void *)(uintptr_t)memory, page, PROT_READ))
		work_did(sender->slot, 1);
	if (!munmap((void *)(uintptr_t)memory, page))
		work_did(sender->slot, 1);
}

/* Each target but this CPU; only what really slept was woken. */
static void wake(const struct sender *sender)
{
	for (size_t i = 0; i < sender->count; i++) {
		struct sleeper *sleeper = &sender->sleepers[i];

		if (sleeper->cpu == sender->slot->cpu)
			continue;
		__atomic_fetch_add(&sleeper->word, 1, __ATOMIC_RELAXED);
		if (syscall(SYS_futex, &sleeper->word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL,
			    0) > 0)
			work_did(sender->slot, 1);
	}
}

static void *send(void *argument) __attribute__((noreturn));

static void *send(void *argument)
{
	struct sender *sender = argument;
	struct work *work = sender->work;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	work_pin(work, sender->slot->cpu);
	for (;;) {
		if (wants(work, MEMBARRIER) && !membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
			work_did(sender->slot, 1);
		if (wants(work, SHOOTDOWN))
			shoot(sender, page);
		if (wants(work, WAKEUP))
			wake(sender);
	}
}

static void thread(struct work *work, void *(*run)(void *argument), void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, run, argument);

	if (error)
		work_fail(work, "no thread: %s", strerror(error));
}

static void run(struct work *work) __attribute__((noreturn));

static void run(struct work *work)
{
	struct work_shared *shared = work->shared;
	struct sleeper *sleepers = NULL;
	struct sender *senders = calloc(shared->count, sizeof(*senders));
	size_t count = cpulist_count(&work->targets);

	sleepers = aligned_alloc(sizeof(*sleepers), count * sizeof(*sleepers));
	if (!senders || !sleepers)
		work_fail(work, "no memory");
	if (wants(work, MEMBARRIER) && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		work_fail(work, "membarrier: %s", strerror(errno));
	count = 0;
	for (int cpu = -1; (cpu = cpulist_next(&work->targets, cpu)) >= 0; count++) {
		sleepers[count] = (struct sleeper){ .work = work, .cpu = cpu };
		if (wants(work, WAKEUP))
			thread(work, sleep_there, &sleepers[count]);
		if ((wants(work, MEMBARRIER) || wants(work, SHOOTDOWN)) &&
		    !cpulist_has(&work->order.cpus, cpu))
			thread(work, be_there, &sleepers[count]);
	}
	work_ready(work);
	for (size_t i = 0; i < shared->count; i++) {
		senders[i] = (struct sender){ work, &shared->slots[i], sleepers, count };
		if (i)
			thread(work, send, &senders[i]);
	}
	send(&senders[0]);
}

const struct work_type work_ipi = {
	.type = {
		.name = "ipi",
		.variants = "membarrier|tlb|wakeup",
		.about = "makes the kernel interrupt other CPUs: membarrier, TLB shootdowns, wake-ups",
		.operation = "requests",
	},
	.whole = true,
	.missing = missing,
	.settle = settle,
	.run = run,
};

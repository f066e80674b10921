/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest tests share: isolation by raw ioctls, and waits. */
#ifndef LAB_ISO_H
#define LAB_ISO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/isolator.h>

#define MS	((uint64_t)1000000)
#define SEC	((uint64_t)1000000000)

struct iso {
	int fd;
	const volatile struct isolator_page *page;
	struct isolator_start_args start;
};

/*
 * First thing in a test: fails it where the kernel has no Isolator or there are
 * fewer CPUs, lets CPUs 1.. be isolated, with any deadlines, and moves to
 * CPU 0.
 */
void iso_require(int cpus);
/* As root: a start may ask for the longest deadlines that there are; 0 or -errno. */
int iso_raise_limits(void);
/* A task, 0 for the calling one, may run on @cpu only; 0 or -errno. */
int iso_pin_task(pid_t tid, int cpu);
/* The isolation of the calling thread; 0 or -errno.  The page may be NULL. */
int iso_pin(int cpu);
int iso_start(struct iso *iso, uint64_t deadline_ns, uint64_t spin_ns);
/* With times, flags or a mask of its own; size is filled in. */
int iso_start_as(struct iso *iso, struct isolator_start_args asked);
/* Gives back what a start opened and mapped, stopped or not. */
void iso_close(struct iso *iso);
int iso_tick(const struct iso *iso, struct isolator_tick_args *args);
int iso_stop(const struct iso *iso);
/* Monotonic time without a system call. */
uint64_t now_ns(void);
void sleep_ms(unsigned int ms);
void spin_ms(unsigned int ms);
/* Memory that children share; ends the test where there is none. */
void *shared_memory(size_t size);
/* A signal's handler that counts how often it ran. */
extern _Atomic uint64_t handled;
void count_signal(int sig);

/* Files: text read or written; 0 or -errno. */
int put_file(const char *path, const char *text);
int get_file(const char *path, char *text, size_t size);
/* Does a line of the file hold all of these words (up to NULL)? */
bool file_has(const char *path, const char *first, ...) __attribute__((sentinel));
/*
 * Requests that reach every CPU, for checks of what becomes of them: a flush of
 * the caller's own translations, and on arm64, which flushes without a call, a barrier that calls
 * as a flush does; work that a kernel thread of each CPU does
 * while the caller sleeps; rcu_barrier(), by isolating CPU 2.  Each says whether it was done.
 */
bool ask_flush(void);
#ifdef __x86_64__
#define FLUSH_CALLBACK	"flush_tlb_func"
#define FLUSH_SYSCALL	"munmap"
#else
#define FLUSH_CALLBACK	"ipi_mb"
#define FLUSH_SYSCALL	"membarrier"
#endif
bool ask_kworker(void);
bool ask_rcu_barrier(void);
/* Is there what ask_kworker() needs? */
bool can_ask_kworker(void);
/* NAME's row of /proc/interrupts for one CPU, -1: no such row. */
long long interrupts(const char *name, int cpu);
/* How many more come, until there are more than @many, which a host may delay: 5 s at most. */
long long interrupts_more(const char *name, int cpu, long long many);
/* All of a CPU's interrupts. */
long long interrupts_all(int cpu);

/* /proc/isolator/deliveries as TAP comments, when a test did not want any. */
void show_deliveries(void);
/*
 * How many times slower than usual this guest is taken to be (SLOWER), at least 1.  A worker's life
 * and all waits here are multiplied by it, except for comes_within() and until().
 */
unsigned int guest_slower(void);
/* Until *value is at least want, at most ms. */
bool wait_for(_Atomic uint64_t *value, uint64_t want, unsigned int ms);
/* At most ms, until it is so: was it?  Of a guest that stands still it looks once more. */
#define comes_within(condition, ms)					\
	({								\
		uint64_t comes_end = now_ns() + (ms) * MS;		\
		bool comes_true;					\
									\
		while (!(comes_true = (condition)) && now_ns() < comes_end)	\
			sleep_ms(1);					\
		comes_true;						\
	})
#define comes(condition, ms)	comes_within(condition, (uint64_t)(ms) * guest_slower())
/* Until it is so; ends the test where it never is. */
#define until(condition)						\
	do {								\
		if (!comes_within(condition, 60000))			\
			bail_out("it never comes: " #condition);	\
	} while (0)

#endif

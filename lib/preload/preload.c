// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ticks for a program that was isolated from outside (isolator run --preload): looks at
 * the shared page in calls of the C library that do not enter the kernel by themselves.
 *
 * A thread begins with a page that says "off" and looks for its own when it is told of
 * a start, and now and then; one that can have none has a page that says "nothing due" for good.  Either way a call costs
 * one load more.  Only asynchronous-signal-safe calls are made, and errno stays.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <isolator/preload.h>
#include <linux/isolator.h>

#define DEVICE		"/dev/isolator"
#define EXPORT		__attribute__((visibility("default")))
#define LOOK_EVERY	1024	/* calls of a thread without a page between two looks */
#define PAGE_BYTES	((size_t)sysconf(_SC_PAGESIZE))

/* @due and @state of a page as one word, as in isolator.h. */
typedef uint64_t __attribute__((__may_alias__)) word_t;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define WORD_IDLE ((uint64_t)ISOLATOR_STATE_ON << 32)
#else
#define WORD_IDLE ((uint64_t)ISOLATOR_STATE_ON)
#endif

static const struct isolator_page off_page = { .state = ISOLATOR_STATE_OFF };
static const struct isolator_page idle_page = { .state = ISOLATOR_STATE_ON };

/* Loaded with the program: the fastest kind of thread-local variable will do. */
static __thread const struct isolator_page *page
	__attribute__((tls_model("initial-exec"))) = &off_page;
static __thread unsigned int calls __attribute__((tls_model("initial-exec")));
static __thread uint64_t starts __attribute__((tls_model("initial-exec")));

static int device = -1;
static struct preload_counts *counts;

static int (*next_clock_gettime)(clockid_t clock, struct timespec *time);
static int (*next_gettimeofday)(struct timeval *restrict time, void *restrict zone);
static time_t (*next_time)(time_t *time);
static int (*next_mutex_lock)(pthread_mutex_t *mutex);
static int (*next_mutex_trylock)(pthread_mutex_t *mutex);
static int (*next_mutex_unlock)(pthread_mutex_t *mutex);

static void look_for_page(void)
{
	const struct isolator_page *found;
	uint64_t told = counts ? __atomic_load_n(&counts->starts, __ATOMIC_RELAXED) : 0;

	if (device < 0) {
		page = &idle_page;
		return;
	}
	if (calls++ % LOOK_EVERY && told == starts)
		return;
	starts = told;
	found = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, device, 0);
	if (found == MAP_FAILED)
		return;
	if (found->magic != ISOLATOR_PAGE_MAGIC || found->version != ISOLATOR_PAGE_VERSION ||
	    found->state != ISOLATOR_STATE_ON)
		munmap((void *)(uintptr_t)found, PAGE_BYTES);
	else
		page = found;
}

/* The page does not say "isolated, and nothing due". */
static __attribute__((noinline)) void slow(void)
{
	struct isolator_tick_args tick = { .size = sizeof(tick), .flags = ISOLATOR_TICK_ALL };
	int error = errno;

	if (page == &off_page) {
		look_for_page();
	} else if (page->state != ISOLATOR_STATE_ON) {
		munmap((void *)(uintptr_t)page, PAGE_BYTES);
		page = &off_page;
	} else if (!ioctl(device, ISOLATOR_IOC_TICK, &tick) && counts) {
		__atomic_fetch_add(&counts->ticks, 1, __ATOMIC_RELAXED);
	}
	errno = error;
}

static inline void look(void)
{
	if (__builtin_expect(__atomic_load_n((const word_t *)&page->due, __ATOMIC_RELAXED) !=
			     WORD_IDLE, 0))
		slow();
}

/* The page is not the child's, and its address holds nothing there. */
static void child_starts(void)
{
	page = device < 0 ? &idle_page : &off_page;
	calls = 0;
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static bool is_device(int fd)
{
	struct statx own, there;

	return !statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &own) && S_ISCHR(own.stx_mode) &&
		!statx(AT_FDCWD, DEVICE, 0, STATX_TYPE, &there) && S_ISCHR(there.stx_mode) &&
		own.stx_rdev_major == there.stx_rdev_major &&
		own.stx_rdev_minor == there.stx_rdev_minor;
}

static bool is_counts(int fd)
{
	struct preload_counts first;
	struct statx own;

	return fcntl(fd, F_GET_SEALS) == PRELOAD_SEALS &&
		!statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &own) && own.stx_size == PRELOAD_BYTES &&
		pread(fd, &first, sizeof(first), 0) == sizeof(first) &&
		first.magic == PRELOAD_MAGIC;
}

/*
 * "DEVICE COUNTS", the numbers of two descriptors; what this executes inherits neither.  What a
 * static program before this one has executed had both, and may have used the numbers for its
 * own files: those are left alone.
 */
static void take_descriptors(void)
{
	const char *text = getenv(PRELOAD_VARIABLE);
	int first, second;
	void *shared;

	if (!text || sscanf(text, "%d %d", &first, &second) != 2)
		return;
	unsetenv(PRELOAD_VARIABLE);
	if (!is_device(first) || !is_counts(second) || fcntl(first, F_SETFD, FD_CLOEXEC) < 0)
		return;
	device = first;
	shared = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, second, 0);
	if (shared != MAP_FAILED) {
		counts = shared;
		counts->loaded = 1;
	}
	close(second);
}

static void find_next(void)
{
	*(void **)&next_clock_gettime = next("clock_gettime");
	*(void **)&next_gettimeofday = next("gettimeofday");
	*(void **)&next_time = next("time");
	*(void **)&next_mutex_lock = next("pthread_mutex_lock");
	*(void **)&next_mutex_trylock = next("pthread_mutex_trylock");
	*(void **)&next_mutex_unlock = next("pthread_mutex_unlock");
}

static __attribute__((constructor)) void begin(void)
{
	find_next();
	take_descriptors();
	pthread_atfork(NULL, NULL, child_starts);
	look();
}

/* Other libraries' constructors may come first. */
#define NEXT(function) \
	do { \
		if (__builtin_expect(!next_##function, 0)) \
			find_next(); \
	} while (0)

EXPORT int clock_gettime(clockid_t clock, struct timespec *time)
{
	NEXT(clock_gettime);
	look();
	return next_clock_gettime(clock, time);
}

EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	NEXT(gettimeofday);
	look();
	return next_gettimeofday(time, zone);
}

EXPORT time_t time(time_t *seconds)
{
	NEXT(time);
	look();
	return next_time(seconds);
}

/* Before a lock is taken, and after it is given back: a tick may take its time. */
EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	NEXT(mutex_lock);
	look();
	return next_mutex_lock(mutex);
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	NEXT(mutex_trylock);
	look();
	return next_mutex_trylock(mutex);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int error;

	NEXT(mutex_unlock);
	error = next_mutex_unlock(mutex);
	look();
	return error;
}

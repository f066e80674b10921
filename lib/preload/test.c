// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The preload library: with a file as the page, and this program's ioctl() as the
 * kernel's.   test-preload LIBRARY
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <isolator/preload.h>
#include <linux/isolator.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define DEVICE	100
#define COUNTS	101
#define COPY	102	/* of both, for the test: the library closes one */
#define MANY	5000

static struct isolator_page *page;
static struct preload_counts *counts;
static int ticks;

/* Found before the C library's, by the preload library, too. */
int ioctl(int fd, unsigned long request, ...)
{
	struct isolator_tick_args *args;
	va_list list;

	va_start(list, request);
	args = va_arg(list, struct isolator_tick_args *);
	va_end(list);
	if (fd != DEVICE || request != ISOLATOR_IOC_TICK || args->size != sizeof(*args) ||
	    args->flags != ISOLATOR_TICK_ALL) {
		errno = EINVAL;
		return -1;
	}
	ticks++;
	page->due = 0;
	/* What a system call may do; the program must not see it. */
	errno = EINTR;
	return 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void call_clock_gettime(void)
{
	struct timespec now;

	CHECK_EQUAL(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	CHECK(now.tv_sec > 0);
}

static void call_gettimeofday(void)
{
	struct timeval now;

	CHECK_EQUAL(gettimeofday(&now, NULL), 0);
	CHECK(now.tv_sec > 1000000000);
}

static void call_time(void)
{
	CHECK(time(NULL) > 1000000000);
}

static void call_lock(void)
{
	CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
	CHECK_EQUAL(ticks, 1);
	CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
}

static void call_trylock(void)
{
	CHECK_EQUAL(pthread_mutex_trylock(&mutex), 0);
	CHECK_EQUAL(ticks, 1);
	CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
}

/* Through the C library's own address: only the unlock is the one that is preloaded. */
static void call_unlock(void)
{
	page->due = 0;
	CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
	ticks = 0;
	page->due = ISOLATOR_DUE_CALL;
	CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
}

static void each_call_ticks(void)
{
	static void (*const calls[])(void) = {
		call_clock_gettime, call_gettimeofday, call_time, call_lock, call_trylock,
		call_unlock,
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		ticks = 0;
		page->due = ISOLATOR_DUE_CALL;
		errno = 4711;
		calls[i]();
		CHECK_EQUAL(ticks, 1);
		CHECK_EQUAL(errno, 4711);
		calls[i == 5 ? 0 : i]();
		CHECK_EQUAL(ticks, 1);
	}
}

static void nothing_due(void)
{
	for (int i = 0; i < MANY; i++)
		call_clock_gettime();
	CHECK_EQUAL(ticks, 0);
}

static void ticks_are_counted(void)
{
	uint64_t before = counts->ticks;

	CHECK_EQUAL(counts->loaded, 1);
	page->due = ISOLATOR_DUE_TIMER;
	call_time();
	CHECK_EQUAL(counts->ticks, before + 1);
}

static void *in_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < MANY; i++)
		call_time();
	ticks = 0;
	page->due = ISOLATOR_DUE_RESCHED;
	call_time();
	return NULL;
}

static void another_thread_finds_its_page(void)
{
	pthread_t thread;

	CHECK_EQUAL(pthread_create(&thread, NULL, in_thread, NULL), 0);
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(ticks, 1);
}

static int looked, told;

/* Its page comes to be right after its first look, as if it were isolated then. */
static void *isolated_later(void *unused)
{
	(void)unused;
	page->state = ISOLATOR_STATE_OFF;
	call_time();
	page->state = ISOLATOR_STATE_ON;
	page->due = ISOLATOR_DUE_RESCHED;
	ticks = 0;
	call_time();
	looked = ticks;
	counts->starts++;
	call_time();
	call_time();
	told = ticks;
	return NULL;
}

static void a_thread_is_told_of_a_start(void)
{
	pthread_t thread;

	CHECK_EQUAL(pthread_create(&thread, NULL, isolated_later, NULL), 0);
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(looked, 0);
	CHECK_EQUAL(told, 1);
}

/* The library's page is not the child's, as in the kernel. */
static bool keep_from_children(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	bool found = false;
	char line[256], mode[8];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:memory") &&
		    sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 && !strcmp(mode, "r--s"))
			found = !madvise((void *)from, to - from, MADV_DONTFORK);
	if (maps)
		fclose(maps);
	return found;
}

/* A child has no page, and is not isolated. */
static void fork_inherits_nothing(void)
{
	int status = -1;
	pid_t child;

	CHECK(keep_from_children());
	child = fork();

	if (!child) {
		page->state = ISOLATOR_STATE_OFF;
		page->due = ISOLATOR_DUE_CALL;
		for (int i = 0; i < MANY; i++)
			call_time();
		_exit(ticks);
	}
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK_EQUAL(status, 0);
	page->state = ISOLATOR_STATE_ON;
	page->due = 0;
}

static void what_it_executes_inherits_nothing(void)
{
	CHECK(getenv(PRELOAD_VARIABLE) == NULL);
	CHECK(fcntl(DEVICE, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(COUNTS, F_GETFD) < 0);
}

static void an_end_is_noticed(void)
{
	page->state = ISOLATOR_STATE_ENDED;
	page->due = ISOLATOR_DUE_CALL;
	for (int i = 0; i < MANY; i++)
		call_time();
	CHECK_EQUAL(ticks, 0);
	/* And so is the next start. */
	page->state = ISOLATOR_STATE_ON;
	for (int i = 0; i < MANY; i++)
		call_time();
	CHECK_EQUAL(ticks, 1);
}

static void fresh(void)
{
	ticks = 0;
	page->due = 0;
}

static const struct test tests[] = {
	{ "nothing due: no tick", nothing_due },
	{ "something due: each call ticks once, and errno stays", each_call_ticks },
	{ "ticks are counted", ticks_are_counted },
	{ "another thread finds its page", another_thread_finds_its_page },
	{ "a thread that is isolated later looks for its page when told", a_thread_is_told_of_a_start },
	{ "fork's child does not tick", fork_inherits_nothing },
	{ "what is executed inherits nothing", what_it_executes_inherits_nothing },
	{ "an end is noticed, and a new start", an_end_is_noticed },
};

static int file(int fd)
{
	int memory = memfd_create("memory", 0);

	return memory < 0 || ftruncate(memory, 4096) < 0 || dup2(memory, fd) != fd ||
		dup2(memory, COPY + fd - DEVICE) < 0 ? -1 : 0;
}

static void *map(int fd)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		if (file(DEVICE) || file(COUNTS))
			return 1;
		page = map(COPY);
		*page = (struct isolator_page){
			.magic = ISOLATOR_PAGE_MAGIC,
			.version = ISOLATOR_PAGE_VERSION,
			.state = ISOLATOR_STATE_ON,
		};
		setenv(PRELOAD_VARIABLE, "100 101", 1);
		setenv("LD_PRELOAD", argv[1], 1);
		execl(argv[0], argv[0], (char *)NULL);
		return 1;
	}
	page = map(COPY);
	counts = map(COPY + 1);
	return check_run_each(tests, sizeof(tests) / sizeof(tests[0]), fresh);
}

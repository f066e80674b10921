// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The preload library: with a file as the page, and this program's ioctl() as the
 * kernel's, as is its statx() for the device.   test-preload LIBRARY
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
#include <sys/stat.h>
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
#define ANOTHER_DEVICE	"TEST_ANOTHER_DEVICE"	/* in the environment: it is none of ours */

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

/* So does this. */
int statx(int directory, const char *path, int flags, unsigned int mask, struct statx *status)
{
	bool named = !strcmp(path, "/dev/isolator");

	if (!named && directory != DEVICE)
		return (int)syscall(SYS_statx, directory, path, flags, mask, status);
	*status = (struct statx){
		.stx_mode = S_IFCHR, .stx_rdev_major = 10,
		.stx_rdev_minor = named && getenv(ANOTHER_DEVICE) ? 8 : 7,
	};
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

/* What has the numbers of both by then; each is left as it is. */
static const char *const foreign[] = { "unsealed", "unmarked", "another device" };
#define FOREIGN (sizeof(foreign) / sizeof(foreign[0]))

static int foreign_codes[FOREIGN];

static void others_files_are_left_alone(void)
{
	for (size_t i = 0; i < FOREIGN; i++)
		if (foreign_codes[i]) {
			printf("# %s: %#x\n", foreign[i], foreign_codes[i]);
			check_failed = true;
		}
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
	{ "files that have the numbers by then are left alone", others_files_are_left_alone },
};

static int file(int fd, uint64_t magic, int seals)
{
	const struct preload_counts first = { .magic = magic };
	int memory = memfd_create("memory", MFD_ALLOW_SEALING);

	return memory < 0 || ftruncate(memory, PRELOAD_BYTES) < 0 ||
		pwrite(memory, &first, sizeof(first), 0) < 0 ||
		(seals && fcntl(memory, F_ADD_SEALS, seals) < 0) || dup2(memory, fd) != fd ||
		dup2(memory, COPY + fd - DEVICE) < 0 || close(memory) < 0 ? -1 : 0;
}

static void *map(int fd)
{
	return mmap(NULL, PRELOAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void preload(const char *library)
{
	setenv(PRELOAD_VARIABLE, "100 101", 1);
	setenv("LD_PRELOAD", library, 1);
}

/* With the library, and files that are not what it was told: a bit for each that it changed. */
static int look_at_foreign(void)
{
	struct preload_counts first;

	page = map(COPY);
	page->due = ISOLATOR_DUE_CALL;
	for (int i = 0; i < MANY; i++)
		call_time();
	return (fcntl(DEVICE, F_GETFD) != 0) | (fcntl(COUNTS, F_GETFD) != 0) << 1 |
		(pread(COUNTS, &first, sizeof(first), 0) != sizeof(first) || first.loaded) << 2 |
		(ticks != 0) << 3 | (getenv(PRELOAD_VARIABLE) != NULL) << 4 | check_failed << 5;
}

static int run_foreign(const char *program, const char *library, size_t which)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (file(DEVICE, 0, 0) ||
		    file(COUNTS, which == 1 ? 0 : PRELOAD_MAGIC, which ? PRELOAD_SEALS : 0))
			_exit(127);
		preload(library);
		if (which == 2)
			setenv(ANOTHER_DEVICE, "1", 1);
		execl(program, program, library, foreign[which], (char *)NULL);
		_exit(127);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

int main(int argc, char **argv)
{
	static char codes[FOREIGN + 1][8];

	if (argc == 3)
		return look_at_foreign();
	if (argc == 2) {
		for (size_t i = 0; i < FOREIGN; i++)
			snprintf(codes[i], sizeof(codes[i]), "%d",
				 run_foreign(argv[0], argv[1], i));
		if (file(DEVICE, 0, 0) || file(COUNTS, PRELOAD_MAGIC, PRELOAD_SEALS))
			return 1;
		page = map(COPY);
		*page = (struct isolator_page){
			.magic = ISOLATOR_PAGE_MAGIC,
			.version = ISOLATOR_PAGE_VERSION,
			.state = ISOLATOR_STATE_ON,
		};
		preload(argv[1]);
		execl(argv[0], argv[0], codes[0], codes[1], codes[2], (char *)NULL);
		return 1;
	}
	for (size_t i = 0; i < FOREIGN; i++)
		foreign_codes[i] = atoi(argv[1 + i]);
	page = map(COPY);
	counts = map(COPY + 1);
	return check_run_each(tests, sizeof(tests) / sizeof(tests[0]), fresh);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A table of tests, run one after another, told in TAP; and the headers that most need. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct test {
	const char *name;
	void (*run)(void);
};

static bool check_failed;

#define CHECK(expression) \
	do { \
		if (!(expression)) { \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #expression); \
			check_failed = true; \
		} \
	} while (0)

#define CHECK_EQUAL(have, want) \
	do { \
		long long have_ = (long long)(have); \
		long long want_ = (long long)(want); \
		if (have_ != want_) { \
			printf("# %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, \
			       #have, have_, want_); \
			check_failed = true; \
		} \
	} while (0)

#define CHECK_TEXT(have, want) \
	do { \
		const char *have_ = (have), *want_ = (want); \
		if (!have_ || strcmp(have_, want_)) { \
			printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, \
			       #have, have_ ? have_ : "(null)", want_); \
			check_failed = true; \
		} \
	} while (0)

/* How many descriptors the process has. */
static inline int descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Run @tests with @before called ahead of each; the exit code of the program. */
static inline int check_run_each(const struct test *tests, size_t count, void (*before)(void))
{
	int failures = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%zu\n", count);
	for (size_t i = 0; i < count; i++) {
		check_failed = false;
		if (before)
			before();
		tests[i].run();
		printf("%sok %zu - %s\n", check_failed ? "not " : "", i + 1, tests[i].name);
		failures += check_failed;
	}
	return failures ? 1 : 0;
}

/* The same with nothing ahead. */
static inline int check_run(const struct test *tests, size_t count)
{
	return check_run_each(tests, count, NULL);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of tests, run one after another, told in TAP. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

#define CHECK_TEXT(have, want) \
	do { \
		const char *have_ = (have), *want_ = (want); \
		if (!have_ || strcmp(have_, want_)) { \
			printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, \
			       #have, have_ ? have_ : "(null)", want_); \
			check_failed = true; \
		} \
	} while (0)

/* The exit code of the program. */
static inline int check_run(const struct test *tests, size_t count)
{
	int failures = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%zu\n", count);
	for (size_t i = 0; i < count; i++) {
		check_failed = false;
		tests[i].run();
		printf("%sok %zu - %s\n", check_failed ? "not " : "", i + 1, tests[i].name);
		failures += check_failed;
	}
	return failures ? 1 : 0;
}

#endif

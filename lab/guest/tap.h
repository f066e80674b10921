/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TAP output of the guest tests: exit 0 passed, 1 failed, 77 skipped. */
#ifndef LAB_TAP_H
#define LAB_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int tap_count, tap_failed;

/* The condition is evaluated first: the text may tell of what it changed. */
#define ok(condition, ...)						\
	({								\
		bool ok_condition = (condition);			\
									\
		tap_line(ok_condition, __VA_ARGS__);			\
	})

static inline bool __attribute__((format(printf, 2, 3)))
tap_line(bool condition, const char *format, ...)
{
	va_list ap;

	printf("%sok %d - ", condition ? "" : "not ", ++tap_count);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	tap_failed += !condition;
	return condition;
}

static inline void __attribute__((format(printf, 1, 2)))
diag(const char *format, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

/* Only for what the header's "skips:" says. */
static inline void __attribute__((noreturn)) skip_all(const char *reason)
{
	printf("1..0 # SKIP %s\n", reason);
	exit(77);
}

static inline void __attribute__((noreturn)) bail_out(const char *reason)
{
	printf("Bail out! %s\n", reason);
	exit(1);
}

static inline int done_testing(void)
{
	printf("1..%d\n", tap_count);
	fflush(stdout);
	return tap_failed || !tap_count;
}

#endif

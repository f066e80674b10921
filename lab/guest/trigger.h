/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trigger of kind program needs: who is aimed at, and how to answer. */
#ifndef LAB_TRIGGER_H
#define LAB_TRIGGER_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline int env_number(const char *name)
{
	const char *text = getenv(name);

	if (!text || !*text) {
		fprintf(stderr, "set %s: it names what the trigger aims at\n", name);
		exit(1);
	}
	return atoi(text);
}

/* The last line that a trigger prints: did it have its effect? */
static inline void __attribute__((format(printf, 3, 4), noreturn))
answer(bool worked, const char *outcome, const char *format, ...)
{
	char detail[200];
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail, sizeof(detail), format, ap);
	va_end(ap);
	printf("{\"worked\":%s,\"outcome\":\"%s\",\"detail\":\"%s\"}\n",
	       worked ? "true" : "false", outcome, detail);
	exit(0);
}

/* Ends the trigger when a call that it needs fails. */
#define need(condition)							\
	do {								\
		if (!(condition))					\
			answer(false, "done", "line %d: %s", __LINE__,	\
			       strerror(errno));			\
	} while (0)

/* The counter NAME of /proc/vmstat. */
static inline long long vmstat(const char *name)
{
	FILE *f = fopen("/proc/vmstat", "r");
	char key[64];
	long long value;

	while (f && fscanf(f, "%63s %lld", key, &value) == 2)
		if (!strcmp(key, name)) {
			fclose(f);
			return value;
		}
	if (f)
		fclose(f);
	return -1;
}

#endif

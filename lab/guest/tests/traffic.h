/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The polling loop of the kernel with a pool and messages: lab/guest/caller/traffic.c. */
#ifndef LAB_TRAFFIC_H
#define LAB_TRAFFIC_H

#include <stdarg.h>
#include "caller.h"

#define TRAFFIC	"lab_traffic"

/* An order, as its source says; 0 or -errno. */
static inline int __attribute__((format(printf, 1, 2))) order(const char *format, ...)
{
	char text[64];
	va_list rest;

	va_start(rest, format);
	vsnprintf(text, sizeof(text), format, rest);
	va_end(rest);
	return put_file("/dev/" TRAFFIC, text);
}

static inline unsigned long long told(const char *name)
{
	return caller_get(TRAFFIC, name);
}

/* In a full run ten times as much. */
static inline unsigned int scaled(unsigned int count)
{
	const char *window = getenv("WINDOW_S");

	return window && atoi(window) >= 60 ? 10 * count : count;
}

#endif

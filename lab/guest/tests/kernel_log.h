/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's log from some moment on: what is in all of it may be forgotten meanwhile. */
#ifndef LAB_KERNEL_LOG_H
#define LAB_KERNEL_LOG_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "../test.h"

/* The log from here on; the caller closes it. */
static inline int kernel_log(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	if (log < 0 || lseek(log, 0, SEEK_END) < 0)
		bail_out("/dev/kmsg");
	return log;
}

/* The next record that came since; false: there is none. */
static inline bool kernel_record(int log, char *record, size_t size)
{
	ssize_t n = read(log, record, size - 1);

	if (n < 0 && errno == EPIPE)
		bail_out("the kernel's log has gone on faster than it was read");
	record[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* How many records have this in them, of those that came since the last look. */
static inline unsigned int kernel_logged(int log, const char *what)
{
	unsigned int count = 0;
	char record[2048];

	while (kernel_record(log, record, sizeof(record)))
		count += strstr(record, what) != NULL;
	return count;
}

#endif

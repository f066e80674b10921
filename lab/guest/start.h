/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LAB_START_H
#define LAB_START_H

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/isolator.h>

/*
 * Isolates the caller; 0 or -errno.  A guest may not have reached high-resolution mode yet: start
 * then says EAGAIN.  Waits for that, at most 10 s, and says so.
 */
static inline int start_patiently(int device, struct isolator_start_args *args)
{
	const struct isolator_start_args asked = *args;

	for (int tries = 0;; tries++) {
		*args = asked;
		if (!ioctl(device, ISOLATOR_IOC_START, args))
			return 0;
		if (errno != EAGAIN || tries == 100)
			return -errno;
		if (!tries)
			fprintf(stderr, "# start says EAGAIN (no high-resolution mode yet?), waiting\n");
		usleep(100000);
	}
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A grace period that user mode can wait for, without anything else that concerns a CPU. */
#ifndef LAB_GRACE_H
#define LAB_GRACE_H

#include <sys/mount.h>
#include "../test.h"

#define GRACE_NORMAL	"/sys/kernel/rcu_normal"
#define GRACE_DIR	"/tmp/lab-rcu"

/* Expedited, but on kernels that expedite none. */
static inline bool grace_expedited(void)
{
	mkdir(GRACE_DIR, 0700);
	return !mount("lab", GRACE_DIR, "tmpfs", 0, NULL) && !umount(GRACE_DIR);
}

static inline bool grace_period(void)
{
	char before[8];
	bool done;

	if (get_file(GRACE_NORMAL, before, sizeof(before)) || put_file(GRACE_NORMAL, "1"))
		bail_out(GRACE_NORMAL);
	done = grace_expedited();
	put_file(GRACE_NORMAL, before);
	return done;
}

#endif

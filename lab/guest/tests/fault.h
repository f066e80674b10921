/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A planted fault: the check that is meant for it must fail, and only then. */
#ifndef LAB_FAULT_H
#define LAB_FAULT_H

#include "../test.h"
#include "kernel_log.h"

#define FAULT	"/proc/isolator/fault"

/* Nothing is planted; ends the test on a kernel that has no faults to plant. */
static inline void need_faults(void)
{
	if (put_file(FAULT, "none"))
		bail_out("no " FAULT ": wants a kernel with planted faults");
}

/* check() says whether the deferral worked, and leaves nothing running. */
static inline void plant(const char *name, bool (*check)(void))
{
	if (!ok(!put_file(FAULT, name), "%s is planted", name))
		return;
	ok(!check(), "with %s the check fails", name);
	ok(!put_file(FAULT, "none"), "the fault is taken away");
}

static inline void without_fault(bool (*check)(void))
{
	need_faults();
	ok(check(), "without a fault the check passes");
}

/* Has Isolator's part of the kernel warned since?  Closes the log. */
static inline bool kernel_warned(int log)
{
	bool warned = false;
	char record[2048];

	while (kernel_record(log, record, sizeof(record)))
		warned |= strstr(record, "WARNING") && strstr(record, "isolator");
	close(log);
	return warned;
}

static inline int with_fault(const char *name, bool (*check)(void))
{
	without_fault(check);
	plant(name, check);
	return done_testing();
}

#endif

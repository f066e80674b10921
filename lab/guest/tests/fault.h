/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A planted fault: the check that is meant for it must fail, and only then. */
#ifndef LAB_FAULT_H
#define LAB_FAULT_H

#include "../test.h"

#define FAULT	"/proc/isolator/fault"

/* check() says whether the deferral worked, and leaves nothing running. */
static inline int with_fault(const char *name, bool (*check)(void))
{
	if (put_file(FAULT, "none"))
		skip_all("no /proc/isolator/fault: wants a kernel with planted faults");
	ok(check(), "without a fault the check passes");
	if (!ok(!put_file(FAULT, name), "%s is planted", name))
		return done_testing();
	ok(!check(), "with %s the check fails", name);
	ok(!put_file(FAULT, "none"), "the fault is taken away");
	return done_testing();
}

#endif

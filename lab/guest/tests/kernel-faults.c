// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-faults
 * cpus: 2
 * kernel: isolator-debug
 * timeout: 120
 * alone: yes
 * about: in a quiet section a lock, an RCU reader and might_sleep() are each reported
 * dmesg: Invalid wait context|suspicious RCU usage|RCU not watching|sleeping function called
 * dmesg: Call [Tt]race:|WARNING: |used illegally while idle
 */
#include "caller.h"

/* lockdep is off after its first report, so the one that needs it comes last. */
static void told(enum caller_fault fault, const char *by, const char *what)
{
	unsigned int said = 0;
	int log = kernel_log();

	caller_put(CALLER, "fault", fault);
	until(!caller_get(CALLER, "fault") && caller_polls(CALLER));
	ok(comes((said += kernel_logged(log, by)) > 0, 5000), "%s: \"%s\"", what, by);
	close(log);
}

int main(void)
{
	iso_require(2);
	caller_start(CALLER);
	told(FAULT_SLEEP, "sleeping function called from invalid context", "might_sleep()");
	told(FAULT_RCU, "used illegally while idle", "an RCU reader");
	told(FAULT_LOCK, "Invalid wait context", "a lock");
	caller_stop(CALLER, "stop");
	return done_testing();
}

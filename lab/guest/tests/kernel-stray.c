// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-stray
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * once: yes
 * alone: yes
 * section: stray _printk
 * about: the observer sees a call out of a quiet section of the kernel, and printk() in one
 * dmesg: WARNING: .* at printk_sprint\+|RCU not watching for|Call [Tt]race:
 *
 * A debug kernel sees that printk(), too.
 */
#include "caller.h"

int main(void)
{
	iso_require(2);
	caller_start(CALLER);
	caller_section();
	caller_put(CALLER, "fault", FAULT_CALL);
	ok(comes(!caller_get(CALLER, "fault"), 5000), "the loop has called a function elsewhere");
	caller_put(CALLER, "fault", FAULT_PRINTK);
	ok(comes(!caller_get(CALLER, "fault"), 5000), "it has printed");
	ok(caller_polls(CALLER), "and polls on");
	caller_stop(CALLER, "stop");
	return done_testing();
}

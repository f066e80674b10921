// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-panic
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * once: yes
 * about: a panic is not held up by a loop of the kernel that polls with interrupts off
 * ends: panic
 */
#include "caller.h"

int main(void)
{
	iso_require(2);
	caller_start(CALLER, 500);
	ok(true, "the guest must end by panic now, within 20 s");
	sync();
	put_file("/proc/sys/kernel/panic", "-1");
	put_file("/proc/sysrq-trigger", "c");
	sleep_ms(20000);	/* sleep: the guest ends meanwhile */
	ok(false, "still here after 20 s");
	return done_testing();
}

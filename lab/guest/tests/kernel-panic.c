// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-panic
 * cpus: 2
 * kernel: isolator
 * timeout: 180
 * once: yes
 * about: a panic is not held up by a loop of the kernel that polls with interrupts off
 * dmesg: SMP: failed to stop secondary CPUs 1$
 * ends: Kernel panic - not syncing: sysrq triggered crash
 */
#include "caller.h"

int main(void)
{
	iso_require(2);
	caller_start(CALLER);
	/*
	 * The interrupt that stops the other CPUs does not reach a section.  x86 waits for it in a
	 * million steps of a microsecond, before its NMI; emulated, these took 7 s and more.  arm64
	 * has no other, and says so.
	 */
	ok(true, "the guest must end by panic now, within 90 s");
	sync();
	put_file("/proc/sys/kernel/panic", "-1");
	put_file("/proc/sysrq-trigger", "c");
	sleep_ms(90000);	/* sleep: the guest ends meanwhile */
	ok(false, "still here after 90 s");
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-crash
 * cpus: 2
 * kernel: isolator
 * timeout: 180
 * once: yes
 * about: a fault of the processor's in a quiet section ends the machine, also where others do not
 * ends: Kernel panic - not syncing: isolator: a fault in a quiet section
 * dmesg: BUG: kernel NULL pointer dereference|Unable to handle kernel NULL pointer
 * dmesg: Oops: |Call [Tt]race:
 * dmesg: RCU not watching for|suspicious RCU usage
 * dmesg: WARNING: .* at (printk_sprint|lock_acquire|lock_release|notifier_call_chain)\+
 * dmesg: WARNING: .* at (__module_address|bpf_prog_ksym_find|smp_cross_call)\+
 * dmesg: BUG: Invalid wait context
 *
 * A debug kernel also says that what reports the fault runs where RCU does not watch.
 */
#include "caller.h"

int main(void)
{
	iso_require(2);
	caller_start(CALLER);
	put_file("/proc/sys/kernel/panic", "-1");
	if (put_file("/proc/sys/kernel/panic_on_oops", "0"))
		bail_out("panic_on_oops");
	ok(true, "the guest must end by panic now, within 90 s");
	sync();
	caller_put(CALLER, "fault", FAULT_OOPS);
	sleep_ms(90000);	/* sleep: the guest ends meanwhile */
	ok(false, "still here after 90 s");
	return done_testing();
}

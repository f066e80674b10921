// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: panic
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * once: yes
 * about: a panic is not held up by a task that is isolated and never ticks
 * ends: Kernel panic - not syncing: sysrq triggered crash
 */
#include "../test.h"

int main(void)
{
	struct worker *w = worker_new(1);

	iso_require(2);
	w->deadline_ns = 60 * SEC;
	need_worker(worker_process(w));
	ok(true, "isolated; the guest must end by panic now, within 10 s");
	sync();
	put_file("/proc/sys/kernel/panic", "-1");
	put_file("/proc/sysrq-trigger", "c");
	sleep_ms(10000);	/* sleep: the guest ends meanwhile */
	ok(false, "still here after 10 s");
	return done_testing();
}

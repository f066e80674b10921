// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: reboot
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * once: yes
 * about: a reboot is not held up by a task that is isolated and never ticks
 * ends: reboot
 */
#include <linux/reboot.h>
#include "../test.h"

int main(void)
{
	struct worker *w = worker_new(1);

	iso_require(2);
	w->deadline_ns = 60 * SEC;
	need_worker(worker_process(w));
	ok(true, "isolated; the guest must end by reboot now, within 10 s");
	sync();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
		LINUX_REBOOT_CMD_RESTART, NULL);
	sleep_ms(10000);	/* sleep: the guest ends meanwhile */
	ok(false, "still here after 10 s");
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: pseudo-nmi
 * cpus: 2
 * kernel: isolator
 * arch: arm64
 * append: irqchip.gicv3_pseudo_nmi=1
 * timeout: 60
 * about: no interrupt is counted where the kernel masks them by their priority either
 * skips: pseudo-NMIs need GICv3
 */
#include <sys/klog.h>
#include "quiet.h"

enum { READ_ALL = 3, LOG = 1 << 20 };

/* Has the kernel taken them into use? */
static bool masked_by_priority(void)
{
	char *log = calloc(1, LOG);

	if (!log || klogctl(READ_ALL, log, LOG - 1) <= 0)
		bail_out("the kernel's log cannot be read");
	return strstr(log, "Pseudo-NMIs enabled");
}

int main(void)
{
	struct worker *ticks = worker_new(1), *never = worker_new(1);

	iso_require(2);
	if (!file_has("/proc/interrupts", "GICv3", NULL))
		skip_all("pseudo-NMIs need GICv3");
	if (!ok(masked_by_priority(), "the kernel masks by priority (CONFIG_ARM64_PSEUDO_NMI)"))
		return done_testing();
	ticks->tick_ms = 10;
	ticks->spin_ns = SEC;	/* a busy host holds its CPU for longer than the usual D_spin */
	measure(ticks, "ticking");
	ok(ticks->ticks > 50, "%lu ticks", ticks->ticks);
	never->deadline_ns = 60 * SEC;
	measure(never, "never ticking");
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-fence-kernel
 * cpus: 4
 * kernel: isolator-faults
 * timeout: 240
 * about: planted fault: a CPU in the kernel counts as stopped while the machine is stopped
 */
#include "fault.h"
#include "gate.h"

int main(void)
{
	iso_require(4);
	stops_require();
	return with_fault("fence_kernel", stops_hold);
}

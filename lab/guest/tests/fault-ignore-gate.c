// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-ignore-gate
 * cpus: 4
 * kernel: isolator-faults
 * timeout: 240
 * about: planted fault: an entry does not wait at its gate while the machine is stopped
 */
#include "fault.h"
#include "gate.h"

int main(void)
{
	iso_require(4);
	stops_require();
	return with_fault("ignore_gate", stops_hold);
}

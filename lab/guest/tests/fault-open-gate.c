// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-open-gate
 * cpus: 4
 * kernel: isolator-faults
 * timeout: 240
 * about: planted fault: the gate opens before the function of a stopped machine runs
 */
#include "fault.h"
#include "gate.h"

int main(void)
{
	iso_require(4);
	stops_require();
	return with_fault("open_gate", stops_hold);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kvm-keys
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 120
 * about: RCU watches an ordinary CPU that runs a virtual machine while the keys go on and off
 * skips: no KVM on this CPU
 */
#include "kvm-keys.h"

int main(void)
{
	return kvm_keys(10);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kvm-keys-long
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 3000
 * long: hour
 * about: 1000 rounds of it: RCU watches an ordinary CPU that runs a virtual machine while the keys go on and off
 * skips: no KVM on this CPU
 */
#include "kvm-keys.h"

int main(void)
{
	return kvm_keys(1000);
}

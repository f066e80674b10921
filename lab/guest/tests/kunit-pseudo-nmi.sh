#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: kunit-pseudo-nmi
# cpus: 2
# kernel: isolator-faults
# arch: arm64
# timeout: 60
# append: kunit.enable=1 irqchip.gicv3_pseudo_nmi=1
# about: before a quiet section an interrupt that waits is seen, also masked by its priority
# skips: pseudo-NMIs need GICv3
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

grep -q GICv3 /proc/interrupts || skip_all "pseudo-NMIs need GICv3"
dmesg | grep -q 'Pseudo-NMIs enabled'
check $? "the kernel masks by priority (CONFIG_ARM64_PSEUDO_NMI)"
dmesg | grep -qE '\] +ok [0-9]+ isolator_test_irq_pending$'
check $? "the case isolator_test_irq_pending passed"
done_testing

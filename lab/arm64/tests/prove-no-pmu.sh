#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: prove-no-pmu
# cpus: 2
# kernel: arm64
# append: nohz_full=1 isolcpus=nohz,domain,managed_irq,1 rcu_nocbs=1 rcu_nocb_poll irqaffinity=0 nosoftlockup
# alone: no
# dmesg: WARNING: .* at kernel/sched/deadline\.c:\d+ task_non_contending
# dmesg: Call trace:
# timeout: 90
# about: isolator prove where the CPU has no such counter: by the kernel's own counts
# shellcheck source=lab/arm64/prove.sh
. "${LAB:-/lab}/lib/prove.sh"

prove -t 1
exits 0 "a quiet CPU"
says '^  kernel instructions  *-  *-  *-   there is no such counter (no PMU)$' \
	"there is no counter, and it says so"
says '^  shown to count before and after: interrupts' "the kernel's counts serve"
prove -t 1 --json
exits 0 "a quiet CPU, as JSON"
says '"schema":"isolator.prove"' "as JSON"
planted 4
says '^not quiet: .* IPI0 (Rescheduling interrupts)' "the interrupt that woke it too"
done_testing

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: prove-pmu
# cpus: 2
# kernel: arm64
# append: nohz_full=1 isolcpus=nohz,domain,managed_irq,1 rcu_nocbs=1 rcu_nocb_poll irqaffinity=0 nosoftlockup
# alone: no
# dmesg: WARNING: .* at kernel/sched/deadline\.c:\d+ task_non_contending
# dmesg: Call trace:
# icount: yes
# timeout: 120
# about: isolator prove by the CPU's counter: a quiet CPU, one that is not, a counter that is dead
# shellcheck source=lab/arm64/prove.sh
. "${LAB:-/lab}/lib/prove.sh"

# An emulated second takes many here: the windows are as short as they can be.
access=/proc/sys/kernel/perf_user_access
old=$(cat $access)

echo 0 >$access
prove -t 0.3
exits 0 "a quiet CPU"
says '^      [1-9][0-9]* are taken off: user mode may not read it$' \
	"its counter counts, read by system calls"
says '^  interrupts taken  *0  *0  *0   does not count$' \
	"exceptions taken stay 0: it does not count"
says '^  shown to count before and after: .*kernel instructions' \
	"the counter is a witness"
! echo "$out" | grep -q '^quiet: .*interrupts taken'
check $? "the one that does not count is none"

echo 1 >$access
prove -t 0.3
exits 0 "a quiet CPU, read in user mode"
says '^  kernel instructions  *[1-9][0-9]*  *0  *[1-9][0-9]*   counts$' \
	"its counter counts, read in user mode"
planted 2
says '^  kernel instructions  *[1-9][0-9]*  *[1-9][0-9]*  *[1-9][0-9]*   counts$' \
	"and the kernel's instructions that it took"

under=$bin/dead-counter
prove -t 0.3
under=
exits 3 "a counter that does not count"
says '^  kernel instructions  *0  *0  *0   does not count' "it is seen not to"
says '^inconclusive: CPU 1, .*: kernel instructions does not count: its 0 proves nothing' \
	"and the verdict says so"
echo "$old" >$access
done_testing

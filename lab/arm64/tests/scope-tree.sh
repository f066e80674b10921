#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: scope-tree
# cpus: 2
# kernel: arm64
# wires: tree
# timeout: 60
# about: isolator_scope finds its GPIO lines in the device tree
# shellcheck source=lab/arm64/wires.sh
. "${LAB:-/lab}/lib/wires.sh"

insmod "$module"
check $? "it loads"
[ "$(cat $knobs/nr_lines)" = 2 ]
check $? "with the lines that the tree gives it"
order each 100 $((0x06))
all 100 "each mechanism that has one answers each trigger"
on irq -1
on kthread 0
order each 100 $((0x06))
all 100 "so does another one there"
refused "gpio=$chip:0,1: cannot get it" sh -c "rmmod isolator_scope; insmod $module gpio=$chip:0,1"
refused "another device has /dev/isolator_scope" sh -c "insmod $module gpio=$chip:4,5"
insmod "$module"
order each 20 $((0x06))
all 20 "what was refused took nothing from it"
rmmod isolator_scope
check $? "it unloads"
done_testing

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: numa-balancing
# row: 94
# class: defer
# kind: script
# absent: x86_64-rt arm64-rt
# notick: no
# about: the balancing of memory between nodes is switched on and off
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/sys/kernel/numa_balancing
[ -e "$file" ] || missing "NUMA balancing"
old=$(cat $file)
n=0
flip "$file" 1 0 1 0
put "$old" "$file"
[ $n = 4 ] && answer true "4 switches"
answer false "$n of 4 switches read back"

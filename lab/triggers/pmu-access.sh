#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: pmu-access
# row: 79
# class: queue
# kind: script
# arch: arm64
# needs: kernel.perf_user_access, which switches a register of each CPU
# notick: no
# about: user mode may read performance counters, and may not any more: each CPU takes it back
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/sys/kernel/perf_user_access
[ -e "$file" ] || missing "kernel.perf_user_access (a PMU and its driver)"
old=$(cat "$file")
n=0
flip "$file" 1 0 1 0
put "$old" "$file"
[ $n = 4 ] && answer true "switched on and off twice"
answer false "$n of 4 values read back"

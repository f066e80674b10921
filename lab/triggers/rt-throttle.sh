#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: rt-throttle
# row: 52
# class: exclude
# kind: script
# notick: no
# about: the share of time that real-time tasks may have is changed and restored
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/sys/kernel/sched_rt_runtime_us
[ -e "$file" ] || missing sched_rt_runtime_us
old=$(cat $file)
n=0
flip "$file" 900000 950000 -1 "$old"
[ $n = 4 ] && answer true "3 shares, and back to $old"
answer false "$n of 4 changes read back"

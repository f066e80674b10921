#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: mce-interval
# row: 63, 77
# class: queue
# kind: script
# arch: x86_64
# needs: the poll for machine checks
# notick: no
# about: the time between looks for machine checks is changed: each CPU starts its timer again
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/sys/devices/system/machinecheck/machinecheck0/check_interval
[ -e "$file" ] || missing "machine checks"
old=$(cat $file)
n=0
flip "$file" 200 "$old" 100 "$old"
[ $n = 4 ] && answer true "changed twice, and back to $old"
answer false "$n of 4 changes read back"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: mce-ignore
# row: 63
# class: queue
# kind: script
# arch: x86_64
# needs: the poll for machine checks
# notick: no
# about: corrected memory errors are ignored and looked for again: each CPU is told
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

dir=/sys/devices/system/machinecheck/machinecheck0
[ -e "$dir/ignore_ce" ] || missing "machine checks"
n=0
for file in ignore_ce cmci_disabled; do
	old=$(cat $dir/$file)
	flip "$dir/$file" $((1 - old)) "$old" $((1 - old)) "$old"
done
[ $n = 8 ] && answer true "8 switches"
answer false "$n of 8 switches read back"

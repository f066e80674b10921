#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: cpu-hotplug
# row: 39, 40, 105
# class: exclude
# kind: script
# cpus: 3
# notick: no
# timeout: 40
# about: another CPU is taken offline, for which all CPUs stop, and online again
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

for dir in /sys/devices/system/cpu/cpu[0-9]*; do
	cpu=${dir##*cpu}
	[ "$cpu" = "${ISO_CPU:?}" ] || [ "$cpu" = "${HK_CPU:?}" ] || other=$dir
done
[ -n "$other" ] || missing "a third CPU"
[ -e "$other/online" ] || missing "CPU hot-plug"
n=0
flip "$other/online" 0 1 0 1
[ $n = 4 ] && answer true "CPU ${other##*cpu} went and came twice"
answer false "$n of 4 changes seen"

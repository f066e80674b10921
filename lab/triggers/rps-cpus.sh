#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: rps-cpus
# row: 1, 80
# class: defer
# kind: script
# notick: no
# about: packet steering to the housekeeping CPU is switched on and off for the loopback device
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/sys/class/net/lo/queues/rx-0/rps_cpus
[ -e "$file" ] || missing rps_cpus
n=0
for want in 1 0 1 0 1 0; do
	put $((want << ${HK_CPU:?})) "$file"
	[ $((0x$(cat $file) >> HK_CPU)) = $want ] && n=$((n + 1))
done
[ $n = 6 ] && answer true "6 masks read back"
answer false "$n of 6 masks read back"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: cpuinfo-read
# row: 73
# class: exclude
# kind: script
# notick: no
# about: what every CPU is, and how fast it runs, is read from /proc/cpuinfo
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

n=0
for _ in 1 2 3; do
	grep -q "^processor.*: ${ISO_CPU:?}$" /proc/cpuinfo && n=$((n + 1))
	sleep 0.05
done
[ $n = 3 ] && answer true "CPU $ISO_CPU read 3 times"
answer false "$n of 3 reads showed CPU $ISO_CPU"

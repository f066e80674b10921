#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: workqueue-mask
# row: 57
# class: exclude
# kind: script
# notick: no
# about: the CPUs on which work without a CPU of its own may run are changed and restored
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/sys/devices/virtual/workqueue/cpumask
[ -e "$file" ] || missing "the mask of workqueues"
old=$(cat $file)
only=$(printf '%x' $((1 << ${HK_CPU:?})))
n=0
for want in "$only" "$old" "$only" "$old"; do
	put "$want" "$file"
	[ $((0x$(cat $file))) = $((0x$want)) ] && n=$((n + 1))
done
[ $n = 4 ] && answer true "mask $only twice, and back to $old"
answer false "$n of 4 masks read back"

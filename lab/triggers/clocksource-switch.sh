#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: clocksource-switch
# row: 104
# class: exclude
# kind: script
# absent: arm64-rt arm64-nort
# notick: no
# about: the kernel's clock is changed to another one and back: all CPUs stop for that
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

dir=/sys/devices/system/clocksource/clocksource0
old=$(cat $dir/current_clocksource)
# shellcheck disable=SC2013 # words are wanted
for clock in $(cat "$dir/available_clocksource"); do
	[ "$clock" = "$old" ] || other=$clock
done
[ -n "$other" ] || missing "a second clock"
n=0
flip $dir/current_clocksource "$other" "$old" "$other" "$old"
[ $n = 4 ] && answer true "twice to $other and back to $old"
answer false "$n of 4 changes seen"

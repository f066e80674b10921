#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: clocksource-switch
# row: 104
# class: refuse
# kind: script
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
refused=0
for want in "$other" "$old" "$other" "$old"; do
	echo "$want" >$dir/current_clocksource 2>/tmp/lab-error || {
		grep -q busy /tmp/lab-error || answer false "changing to $want failed"
		refused=$((refused + 1))
	}
	[ "$(cat $dir/current_clocksource)" = "$want" ] && n=$((n + 1))
done
[ $refused = 4 ] && answer true "EBUSY 4 times of 4" refused
[ $n = 4 ] && [ $refused = 0 ] && answer true "twice to $other and back to $old"
answer false "$n of 4 changes seen, $refused refused"

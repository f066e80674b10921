#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: sched-debug-features
# row: 1
# class: defer
# kind: script
# notick: no
# about: features of the scheduler are switched through debugfs: each is a static key
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/sys/kernel/debug/sched/features
[ -e "$file" ] || missing "the scheduler's features in debugfs"
n=0
for feature in LB_MIN WA_BIAS; do
	was=$(tr ' ' '\n' <$file | grep -x -e $feature -e NO_$feature)
	[ -n "$was" ] || missing "feature $feature"
	other=NO_$feature
	[ "$was" = $feature ] || other=$feature
	for want in "$other" "$was" "$other" "$was"; do
		put "$want" "$file"
		tr ' ' '\n' <$file | grep -qx "$want" && n=$((n + 1))
	done
done
[ $n = 8 ] && answer true "8 switches"
answer false "$n of 8 switches read back"

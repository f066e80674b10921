#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: trace-instance
# row: 7, 47
# class: defer
# kind: script
# notick: no
# about: a second set of trace buffers is made, records an event, and is removed
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
dir=$tracing/instances/lab-trigger
[ -d "$tracing/instances" ] || missing "tracing instances"
n=0
for _ in 1 2; do
	mkdir "$dir" || answer false "mkdir failed"
	put 1 "$dir/events/sched/sched_switch/enable"
	sleep 0.02
	put 0 "$dir/events/sched/sched_switch/enable"
	grep -q 'sched_switch: ' "$dir/trace" && n=$((n + 1))
	rmdir "$dir" || answer false "rmdir failed"
done
[ $n = 2 ] && answer true "2 instances recorded"
answer false "$n of 2 instances recorded"

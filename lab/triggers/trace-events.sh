#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: trace-events
# row: 7, 47
# class: defer
# kind: script
# notick: yes
# in: run
# about: the scheduler's trace events are switched on and off: tracepoints are patched in
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
events=$tracing/events/sched/enable
[ -e "$events" ] || missing "trace events"
echo >"$tracing/trace"
put 1 "$events"
sleep 0.1
put 0 "$events"
n=$(grep -c 'sched_' $tracing/trace)
echo >"$tracing/trace"
[ "$n" -gt 0 ] && answer true "$n events recorded"
answer false "no event was recorded"

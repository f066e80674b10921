#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: trace-event-pid
# row: 47
# class: queue
# kind: script
# notick: no
# about: the tracer is told to record one process's events only: every CPU is asked who runs there
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
pids=$tracing/set_event_pid
event=$tracing/events/sched/sched_switch/enable
[ -e "$pids" ] || missing "set_event_pid"
own=0
other=0
for _ in 1 2; do
	echo >"$tracing/trace"
	put $$ "$pids"
	put 1 "$event"
	sleep 0.02
	put 0 "$event"
	own=$((own + $(grep -c "sched_switch:.*_pid=$$ " "$tracing/trace")))
	other=$((other + $(grep sched_switch: "$tracing/trace" | grep -vc "_pid=$$ ")))
	echo >"$pids"
done
echo >"$tracing/trace"
[ -s "$pids" ] && answer false "the pid did not go"
[ $own -gt 0 ] && [ $other = 0 ] && answer true "$own switches of ours, none of others"
answer false "$own switches of ours, $other of others"

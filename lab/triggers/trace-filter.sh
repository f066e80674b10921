#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: trace-filter
# row: 47
# class: queue
# kind: script
# notick: no
# in: run
# about: an event filter and a pid filter of the tracer are set and cleared
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
filter=$tracing/events/sched/sched_switch/filter
[ -e "$filter" ] || missing "trace events"
put 'prev_pid == 1' "$filter"
grep -q 'prev_pid == 1' "$filter" || answer false "the filter was not taken"
put 0 "$filter"
pids=$tracing/set_ftrace_pid
if [ -e "$pids" ]; then
	put $$ "$pids"
	echo 1 >>"$pids" || answer false "a second pid was refused"
	[ "$(grep -c . "$pids")" = 2 ] || answer false "the pids were not taken"
	echo >"$pids"
	grep -q 'no pid' "$pids" || answer false "the pids did not go"
fi
grep -qx none "$filter" || answer false "the filter did not go"
answer true "an event filter and two pids set and cleared"

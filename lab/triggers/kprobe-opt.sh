#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: kprobe-opt
# row: 8
# class: catch-up
# kind: script
# notick: no
# about: a probe inside a kernel function becomes a jump, a breakpoint, and a jump again
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
knob=/proc/sys/debug/kprobes-optimization
list=/sys/kernel/debug/kprobes/list
[ -e "$knob" ] || missing "optimised kprobes"
[ -e "$list" ] || missing "$list"
event=$tracing/events/lab/lab_uptime/enable

# end ANSWER...: nothing of it stays
end() {
	put 1 "$knob"
	[ -e "$event" ] && put 0 "$event"
	echo '-:lab/lab_uptime' >>"$tracing/kprobe_events"
	echo >"$tracing/trace"
	answer "$@"
}

# becomes COUNT: waits until as many probes are jumps; a worker does it after a grace period.
# It looks rarely: that is waited for by who runs when it begins, 0.1 s, and up to 0.6 s with
# PREEMPT_RT where no other interrupt comes.
becomes() {
	for _ in $(seq 20); do
		[ "$(grep -c 'uptime_proc_show.*OPTIMIZED' "$list")" = "$1" ] && return
		sleep 0.25
	done
	end false "not $1 optimised probes: $(grep uptime_proc_show "$list")"
}

# Its first instruction stands behind the call of the function tracer, 5 bytes, or 4 more with IBT.
for at in 5 9; do
	echo "p:lab/lab_uptime uptime_proc_show+$at" >>"$tracing/kprobe_events" && break
done 2>/dev/null
[ -e "$event" ] || answer false "the kprobe was refused"
[ "$(cat "$knob")" = 1 ] || end false "optimisation was off"
echo >"$tracing/trace"
put 1 "$event"
becomes 1
cat /proc/uptime >/dev/null
put 0 "$knob"
becomes 0
cat /proc/uptime >/dev/null
put 1 "$knob"
becomes 1
cat /proc/uptime >/dev/null
n=$(grep -c lab_uptime: "$tracing/trace")
[ "$n" = 3 ] && end true "hit as jump, as breakpoint and as jump"
end false "$n of 3 hits"

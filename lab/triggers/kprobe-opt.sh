#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: kprobe-opt
# row: 8
# class: defer
# kind: script
# arch: x86_64
# needs: optimised kprobes (OPTPROBES)
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

# change VALUE FILE COUNT: writes it, and COUNT probes are jumps after.  A worker does that after
# a grace period of RCU tasks, which waits for whoever it finds running when it begins, 0.1 s,
# and up to 0.6 s with PREEMPT_RT.  So all here sleep by then.
change() {
	sleep 0.35 &
	sleep 0.05
	put "$1" "$2"
	wait $!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ "$(grep -c 'uptime_proc_show.*OPTIMIZED' "$list")" = "$3" ] && return
		sleep 0.5
	done
	end false "not $3 optimised probes: $(grep uptime_proc_show "$list")"
}

# Its first instruction stands behind the call of the function tracer, 5 bytes, or 4 more with IBT.
for at in 5 9; do
	echo "p:lab/lab_uptime uptime_proc_show+$at" >>"$tracing/kprobe_events" && break
done 2>/dev/null
[ -e "$event" ] || answer false "the kprobe was refused"
[ "$(cat "$knob")" = 1 ] || end false "optimisation was off"
echo >"$tracing/trace"
change 1 "$event" 1
cat /proc/uptime >/dev/null
change 0 "$knob" 0
cat /proc/uptime >/dev/null
change 1 "$knob" 1
cat /proc/uptime >/dev/null
n=$(grep -c lab_uptime: "$tracing/trace")
[ "$n" = 3 ] && end true "hit as jump, as breakpoint and as jump"
end false "$n of 3 hits"

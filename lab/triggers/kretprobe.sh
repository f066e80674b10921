#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: kretprobe
# row: 8
# class: defer
# kind: script
# notick: no
# about: a probe on a kernel function's return is planted, hit and taken away
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
[ -e "$tracing/kprobe_events" ] || missing "kprobe events"
n=0
for _ in 1 2; do
	echo >"$tracing/trace"
	# shellcheck disable=SC2016 # the kernel's own variable
	echo 'r:lab/lab_opened do_sys_openat2 fd=$retval' >>"$tracing/kprobe_events" ||
		answer false "the kretprobe was refused"
	put 1 "$tracing/events/lab/lab_opened/enable"
	cat /proc/uptime >/dev/null
	put 0 "$tracing/events/lab/lab_opened/enable"
	grep -q 'lab_opened: .*fd=0x' "$tracing/trace" && n=$((n + 1))
	echo '-:lab/lab_opened' >>"$tracing/kprobe_events" || answer false "the kretprobe was not taken away"
	[ -e "$tracing/events/lab/lab_opened" ] && answer false "the kretprobe did not go"
done
echo >"$tracing/trace"
[ $n = 2 ] && answer true "2 probes saw a return value"
answer false "$n of 2 probes saw a return value"

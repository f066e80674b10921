#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: trace-syscalls
# row: 7, 50
# class: defer
# kind: script
# notick: no
# about: tracing of all system calls is switched on and off: every task is marked for it
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
events=$tracing/events/raw_syscalls/enable
[ -e "$events" ] || missing "system call events"
n=0
for _ in 1 2 3; do
	echo >"$tracing/trace"
	put 1 "$events"
	cat /proc/uptime >/dev/null
	put 0 "$events"
	grep -q 'sys_enter: ' "$tracing/trace" && grep -q 'sys_exit: ' "$tracing/trace" && n=$((n + 1))
done
echo >"$tracing/trace"
[ $n = 3 ] && answer true "3 times system calls were recorded"
answer false "only $n of 3 times system calls were recorded"

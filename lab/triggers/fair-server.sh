#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: fair-server
# row: 51
# class: exclude
# kind: script
# notick: no
# about: the time that the isolated CPU owes to ordinary tasks is changed and restored
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/sys/kernel/debug/sched/fair_server/cpu${ISO_CPU:?}/runtime
[ -e "$file" ] || missing "the fair server in debugfs"
old=$(cat "$file")
# Where it may: with nobody to serve, Linux 6.12 warns, and the server serves nobody any more.
taskset -c "$ISO_CPU" sh -c 'while :; do :; done' 2>/dev/null &
waiter=$!
sleep 0.1
n=0
for want in 40000000 "$old" 30000000 "$old"; do
	echo "$want" >"$file"
	[ "$(cat "$file")" = "$want" ] && n=$((n + 1))
done
# It has to come here to die.
taskset -pc "${HK_CPU:?}" $waiter >/dev/null 2>&1
kill -9 $waiter 2>/dev/null
wait $waiter
[ $n = 4 ] && answer true "changed twice, and back to $old"
answer false "$n of 4 changes read back"

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
n=0
for want in 40000000 "$old" 30000000 "$old"; do
	put "$want" "$file"
	[ "$(cat "$file")" = "$want" ] && n=$((n + 1))
done
[ $n = 4 ] && answer true "changed twice, and back to $old"
answer false "$n of 4 changes read back"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: trace-snapshot
# row: 97, 47
# class: yield
# kind: script
# notick: no
# about: a snapshot of the trace buffers is made room for, taken and freed
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
file=$tracing/snapshot
[ -e "$file" ] || missing "trace snapshots"
n=0
for i in 1 2; do
	put "lab snapshot $i" "$tracing/trace_marker"
	put 1 "$file"
	grep -q "lab snapshot $i" "$file" && n=$((n + 1))
	put 0 "$file"
	grep -q 'Snapshot is freed' "$file" && n=$((n + 1))
done
echo >"$tracing/trace"
[ $n = 4 ] && answer true "2 snapshots taken and freed"
answer false "$n of 4 steps seen"

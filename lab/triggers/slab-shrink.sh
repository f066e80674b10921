#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: slab-shrink
# row: 35
# class: quiesce
# kind: script
# notick: no
# in: run
# about: slab caches are shrunk: CPUs with partial slabs are asked to give them back
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

dir=/sys/kernel/slab
[ -d "$dir" ] || missing "$dir"
n=0
before=0
after=0
for cache in "$dir"/*; do
	[ -r "$cache/cpu_slabs" ] || continue
	slabs=$(cut -d ' ' -f 1 "$cache/cpu_slabs")
	[ "$slabs" -gt 0 ] || continue
	before=$((before + slabs))
	put 1 "$cache/shrink"
	after=$((after + $(cut -d ' ' -f 1 "$cache/cpu_slabs")))
	n=$((n + 1))
	[ $n = 8 ] && break
done
[ $after -lt $before ] && answer true "$n caches gave back $((before - after)) of $before per-CPU slabs"
answer false "$n caches kept $after of $before per-CPU slabs"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: overcommit
# row: 96
# class: yield
# kind: script
# notick: no
# about: memory overcommit is switched to strict and back: every CPU brings its share up to date
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/sys/vm/overcommit_memory
ratio=/proc/sys/vm/overcommit_ratio
[ -e "$file" ] || missing overcommit_memory
old=$(cat $file)
old_ratio=$(cat $ratio)
# Locked and mapped memory must fit into what may be committed.
put 1000 "$ratio"
n=0
for _ in 1 2 3; do
	put 2 "$file"
	[ "$(cat "$file")" = 2 ] && n=$((n + 1))
	put "$old" "$file"
	[ "$(cat "$file")" = "$old" ] && n=$((n + 1))
done
put "$old_ratio" "$ratio"
[ $n = 6 ] && answer true "3 times strict and back to $old"
answer false "$n of 6 changes read back"

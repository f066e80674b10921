#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: hugepages
# row: 13, 34
# class: queue
# kind: script
# notick: no
# about: huge pages are reserved and given back
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/sys/vm/nr_hugepages
[ -e "$file" ] || missing nr_hugepages
old=$(cat "$file")
n=0
for _ in 1 2 3; do
	put $((old + 8)) "$file"
	[ "$(cat "$file")" -gt "$old" ] && n=$((n + 1))
	put "$old" "$file"
	[ "$(cat "$file")" = "$old" ] && n=$((n + 1))
done
[ $n = 6 ] && answer true "3 times reserved and given back"
answer false "$n of 6 steps read back"

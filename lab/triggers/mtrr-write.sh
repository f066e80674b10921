#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: mtrr-write
# row: 41
# class: immediate
# kind: script
# arch: x86_64
# needs: memory type ranges (MTRR)
# notick: no
# about: a range of memory where nothing lies gets another caching type: all CPUs stop for that
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/mtrr
[ -e "$file" ] || missing "memory type range registers"
n=0
for type in write-combining uncachable; do
	put "base=0x60000000 size=0x100000 type=$type" "$file"
	line=$(grep "base=0x060000000 .*: $type" $file)
	[ -n "$line" ] || answer false "no range in $(tr -d '\n' <$file)"
	n=$((n + 1))
	number=${line#reg}
	number=${number%%:*}
	put "disable=${number#0}" "$file"
	grep -q 'base=0x060000000 ' $file || n=$((n + 1))
done
[ $n = 4 ] && answer true "2 ranges came and went"
answer false "$n of 4 steps seen in $file"

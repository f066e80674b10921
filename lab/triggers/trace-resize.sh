#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: trace-resize
# row: 97, 47
# class: yield
# kind: script
# notick: no
# in: run check
# about: the trace buffers are resized: a kernel thread of every CPU does it, and the caller waits
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
file=$tracing/buffer_size_kb
old=$(cut -d ' ' -f 1 $file)
# The kernel rounds up to its pages.
for want in 300 200; do
	put $want "$file"
	now=$(cut -d ' ' -f 1 "$file")
	if [ "$now" -lt $want ] || [ "$now" -gt $((want + 16)) ]; then
		answer false "size reads $now, not $want"
	fi
done
put "$old" "$file"
answer true "to 300 and 200 KiB and back"

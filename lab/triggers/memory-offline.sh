#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: memory-offline
# row: 29, 34
# class: quiesce
# kind: script
# arch: x86_64
# needs: a way to take memory of the boot offline
# notick: no
# memory: 2G
# append: movablecore=1G
# about: a block of memory is taken offline and online again
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

dir=/sys/devices/system/memory
[ -d "$dir" ] || missing "memory hot-plug"
total() {
	while read -r key value _; do
		[ "$key" = MemTotal: ] && echo "$value"
	done </proc/meminfo
}

before=$(total)
for block in $(find "$dir" -name 'memory[0-9]*' | sed 's/.*memory//' | sort -rn); do
	state=$dir/memory$block/state
	[ "$(cat "$dir/memory$block/valid_zones")" = Movable ] || continue
	[ "$(cat "$state")" = online ] || continue
	# Pages that cannot be moved are tried again until a signal comes.  Those of an
	# isolated task are such, but for them it is to be told so.
	timeout 20 sh -c "echo offline >$state" 2>/dev/null
	case $? in
	0) ;;
	124) answer false "block $block is tried without end" ;;
	*) busy=$((${busy:-0} + 1)); continue ;;
	esac
	[ "$(cat "$state")" = offline ] && less=$((before - $(total)))
	put online_movable "$state"
	[ "$(cat "$state")" = online ] || answer false "block $block does not come back"
	[ "$(total)" = "$before" ] || answer false "memory was $before kB, is $(total) kB"
	[ "${less:-0}" -gt 0 ] && answer true "block $block with $less kB went and came back, ${busy:-0} refused"
done
answer false "no block of the movable zone could be taken offline"

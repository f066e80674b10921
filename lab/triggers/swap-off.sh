#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: swap-off
# row: 18
# class: exclude
# kind: script
# notick: yes
# in: run
# about: swap is switched on and off: switching off walks every process
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

[ -e /proc/swaps ] || missing swap
[ -e /dev/loop-control ] || missing "loop devices"
file=$(mktemp)
dd if=/dev/zero of="$file" bs=64k count=32 2>/dev/null
loop=$(losetup -f) || answer false "no free loop device"
losetup "$loop" "$file" || answer false "losetup failed"
mkswap "$loop" >/dev/null || answer false "mkswap failed"
swapon "$loop" || answer false "swapon failed"
grep -q "^$loop" /proc/swaps && on=yes
swapoff "$loop" || answer false "swapoff failed"
grep -q "^$loop" /proc/swaps || off=yes
losetup -d "$loop"
rm "$file"
[ "$on$off" = yesyes ] && answer true "$loop on and off"
answer false "on: $on, off: $off"

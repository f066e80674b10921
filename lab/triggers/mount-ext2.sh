#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: mount-ext2
# row: 33
# class: quiesce
# kind: script
# notick: no
# about: a file system is mounted, written and unmounted: its buffers are dropped on every CPU
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

grep -q ext2 /proc/filesystems || missing ext2
dir=/tmp/lab-ext2
mkdir "$dir"
dd if=/dev/zero of="$dir.img" bs=64k count=16 2>/dev/null
mke2fs -F "$dir.img" >/dev/null 2>&1 || answer false "mke2fs failed"
loop=$(losetup -f) || answer false "no free loop device"
losetup "$loop" "$dir.img" || answer false "losetup failed"
n=0
for i in 1 2 3; do
	mount -t ext2 "$loop" "$dir" || answer false "mount failed"
	[ $i = 1 ] || [ "$(cat "$dir/file")" = $((i - 1)) ] || answer false "the file was lost"
	echo $i >"$dir/file"
	umount "$dir" || answer false "umount failed"
	[ -e "$dir/file" ] || n=$((n + 1))
done
losetup -d "$loop"
rm -r "$dir" "$dir.img"
[ $n = 3 ] && answer true "3 mounts, what was written came back"
answer false "$n of 3 unmounts seen"

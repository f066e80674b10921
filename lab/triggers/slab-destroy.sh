#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: slab-destroy
# row: 35, 98, 3, 10
# class: quiesce
# kind: script
# notick: no
# about: a module with slab caches of its own is used and removed: the caches are destroyed
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

module=$(module fuse)
[ -n "$module" ] || missing fuse.ko
cache=/sys/kernel/slab/fuse_inode
dir=/tmp/lab-fuse
mkdir "$dir"
n=0
for _ in 1 2; do
	insmod "$module" || answer false "insmod failed"
	[ -e "$cache" ] && n=$((n + 1))
	# A mount that nobody serves leaves objects in them.
	exec 3<>/dev/fuse
	mount -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 lab "$dir" || answer false "mount failed"
	umount "$dir" || answer false "umount failed"
	exec 3>&-
	rmmod fuse || answer false "rmmod failed"
	[ -e "$cache" ] || n=$((n + 1))
done
rmdir "$dir"
[ $n = 4 ] && answer true "2 times the caches came and went"
answer false "$n of 4 steps seen"

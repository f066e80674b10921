#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: memcg-reclaim
# row: 18, 32
# class: exclude
# kind: script
# notick: no
# about: a control group fills the page cache and is told to give memory back
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

top=/sys/fs/cgroup
grep -q memory "$top/cgroup.controllers" || missing "memory controller"
had=$(cat "$top/cgroup.subtree_control")
group=$top/lab-reclaim
dir=/tmp/lab-reclaim

# end ANSWER...: nothing of it stays
end() {
	umount "$dir" 2>/dev/null
	[ "${loop-}" ] && losetup -d "$loop"
	rm -rf "$dir" "$dir.img"
	rmdir "$group"
	case " $had " in *" memory "*) ;; *) echo -memory >"$top/cgroup.subtree_control" ;; esac
	answer "$@"
}

put +memory "$top/cgroup.subtree_control"
mkdir "$group" "$dir" || answer false "mkdir failed"
[ -e "$group/memory.reclaim" ] || end false "no memory.reclaim"
# A file system that is written back: what is clean can be taken.
dd if=/dev/zero of="$dir.img" bs=64k count=80 2>/dev/null
mke2fs -F "$dir.img" >/dev/null 2>&1 || end false "mke2fs failed"
loop=$(losetup -f) || end false "no free loop device"
losetup "$loop" "$dir.img" || end false "losetup failed"
mount -t ext2 "$loop" "$dir" || end false "mount failed"
sh -c "echo \$\$ >$group/cgroup.procs; exec dd if=/dev/zero of=$dir/file bs=64k count=48" 2>/dev/null
sync
before=$(cat "$group/memory.current")
echo 2M >"$group/memory.reclaim" || end false "2 MiB of $before bytes were not given back"
after=$(cat "$group/memory.current")
[ $((before - after)) -ge 1048576 ] && end true "from $before to $after bytes"
end false "only from $before to $after bytes"

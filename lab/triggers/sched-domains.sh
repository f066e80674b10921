#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: sched-domains
# row: 115
# class: exclude
# kind: script
# cpus: 3
# notick: no
# about: another CPU gets a scheduling domain of its own and loses it: all domains are rebuilt
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

top=/sys/fs/cgroup
[ -e "$top/cgroup.controllers" ] || missing "cgroup v2 at $top"
grep -q cpuset "$top/cgroup.controllers" || missing "cpuset controller"
for dir in /sys/devices/system/cpu/cpu[0-9]*; do
	cpu=${dir##*cpu}
	[ "$cpu" = "${ISO_CPU:?}" ] || [ "$cpu" = "${HK_CPU:?}" ] || other=$cpu
done
[ -n "$other" ] || missing "a third CPU"
put +cpuset "$top/cgroup.subtree_control"
group=$top/lab-domain
[ -e "$group" ] || mkdir "$group" || answer false "mkdir failed"
put "$other" "$group/cpuset.cpus"
n=0
for kind in root isolated root isolated; do
	put $kind "$group/cpuset.cpus.partition"
	[ "$(cat "$group/cpuset.cpus.partition")" = $kind ] && n=$((n + 1))
	put member "$group/cpuset.cpus.partition"
	[ "$(cat "$group/cpuset.cpus.partition")" = member ] && n=$((n + 1))
done
rmdir "$group" || answer false "rmdir failed"
[ $n = 8 ] && answer true "CPU $other: 4 domains came and went"
answer false "$n of 8 changes seen"

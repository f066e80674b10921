#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: cgroup-move-task
# row: 49
# class: queue
# kind: script
# notick: no
# about: the task's process is moved into a control group with shares and CPUs, and out again
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

top=/sys/fs/cgroup
[ -e "$top/cgroup.controllers" ] || missing "cgroup v2 at $top"
grep -q 'cpuset.*cpu' "$top/cgroup.controllers" || missing "the controllers cpuset and cpu"
where() {
	sed -n 's/^0:://p' "/proc/${TASK_PID:?}/cgroup"
}
home=$(where)
before=$(cat $top/cgroup.subtree_control)
put '+cpuset +cpu' $top/cgroup.subtree_control
group=$top/lab-move
mkdir "$group" || answer false "mkdir failed"
n=0
for weight in 50 200; do
	put "$(cat $top/cpuset.cpus.effective)" "$group/cpuset.cpus"
	put "$TASK_PID" "$group/cgroup.procs"
	[ "$(where)" = /lab-move ] && n=$((n + 1))
	put $weight "$group/cpu.weight"
	put "${HK_CPU:?},${ISO_CPU:?}" "$group/cpuset.cpus"
	[ "$(cat "$group/cpu.weight")" = $weight ] && n=$((n + 1))
	put "$TASK_PID" "$top$home/cgroup.procs"
	[ "$(where)" = "$home" ] && n=$((n + 1))
done
rmdir "$group" || answer false "rmdir failed"
for controller in cpuset cpu; do
	case " $before " in
	*" $controller "*) ;;
	*) put -$controller $top/cgroup.subtree_control ;;
	esac
done
[ $n = 6 ] && answer true "moved in and out twice"
answer false "$n of 6 steps seen"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: freeze-task
# row: 50
# class: queue
# kind: script
# notick: no
# about: the task's process is frozen by its control group and thawed
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

top=/sys/fs/cgroup
[ -e "$top/cgroup.controllers" ] || missing "cgroup v2 at $top"
group=$top/lab-freeze
home=$top$(sed -n 's/^0:://p' "/proc/${TASK_PID:?}/cgroup")

# frozen 0|1: waits until the group says so
frozen() {
	for _ in $(seq 200); do
		grep -q "^frozen $1$" "$group/cgroup.events" && return 0
		sleep 0.01
	done
	return 1
}

mkdir "$group" || answer false "mkdir failed"
echo "$TASK_PID" >"$group/cgroup.procs" || {
	rmdir "$group"
	answer false "the process cannot be moved into the group"
}
n=0
for _ in 1 2 3; do
	echo 1 >"$group/cgroup.freeze"
	frozen 1 && n=$((n + 1))
	echo 0 >"$group/cgroup.freeze"
	frozen 0 && n=$((n + 1))
done
put "$TASK_PID" "$home/cgroup.procs"
rmdir "$group" || answer false "rmdir failed"
[ $n = 6 ] && answer true "frozen and thawed 3 times"
answer false "$n of 6 changes seen"

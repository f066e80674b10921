#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: cpuset-churn
# row: 48, 49
# class: exclude
# kind: script
# notick: yes
# in: run
# about: a control group with a cpuset is made, filled and removed
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

top=/sys/fs/cgroup
[ -e "$top/cgroup.controllers" ] || missing "cgroup v2 at $top"
grep -q cpuset "$top/cgroup.controllers" || missing "cpuset controller"
put +cpuset "$top/cgroup.subtree_control"
group=$top/lab-churn
n=0
for _ in 1 2 3; do
	mkdir "$group" || answer false "mkdir failed"
	put "${HK_CPU:?}" "$group/cpuset.cpus"
	put $$ "$group/cgroup.procs"
	grep -q '^Cpus_allowed_list:.'"$HK_CPU"'$' /proc/$$/status && n=$((n + 1))
	put $$ "$top/cgroup.procs"
	rmdir "$group" || answer false "rmdir failed"
done
[ $n = 3 ] && answer true "3 groups held us on CPU $HK_CPU"
answer false "$n of 3 groups took effect"

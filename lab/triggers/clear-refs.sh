#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: clear-refs
# row: 18
# class: refuse
# kind: script
# notick: no
# about: the task's referenced and soft-dirty bits are cleared through /proc
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/${TASK_PID:?}/clear_refs
[ -e "$file" ] || missing clear_refs
referenced() {
	while read -r key value _; do
		[ "$key" = Referenced: ] && echo "$value"
	done <"/proc/$1/smaps_rollup"
}
# A process of our own shows that clearing works. The task's must only return: where each bit that
# is gone costs a fault, the kernel may say that it is busy.
sleep 5 &
# Amid its exec it has no memory to show.
before=
while [ -z "$before" ] && kill -0 $!; do
	before=$(referenced $!)
done
put 1 /proc/$!/clear_refs
after=$(referenced $!)
kill $!
outcome="done"
refused=
for bits in 1 4; do
	echo $bits 2>/tmp/lab-error >"$file" && continue
	grep -q busy /tmp/lab-error || answer false "writing $bits to the task's failed"
	outcome=refused
	refused="$refused $bits"
done
[ "$after" -lt "$before" ] && answer true "ours went from $before to $after kB, refused of the task's:${refused:- none}" $outcome
answer false "referenced memory went from $before to $after kB"

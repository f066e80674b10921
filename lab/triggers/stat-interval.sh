#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: stat-interval
# row: 31
# class: exclude
# kind: script
# notick: no
# about: the interval of the memory statistics' timers is changed, and two seconds pass
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/sys/vm/stat_interval
[ -e "$file" ] || missing stat_interval
old=$(cat "$file")
put $((old + 1)) "$file"
[ "$(cat "$file")" = $((old + 1)) ] || answer false "the interval did not change"
put 1 "$file"
before=$(vmstat nr_shmem)
dd if=/dev/zero of=/tmp/lab-interval bs=4k count=8 2>/dev/null
sleep 2.5
after=$(vmstat nr_shmem)
rm /tmp/lab-interval
put "$old" "$file"
[ "$(cat "$file")" = "$old" ] || answer false "the interval was not restored"
[ "$after" -gt "$before" ] && answer true "8 pages were added up meanwhile, every second"
answer false "pages of shared memory: $before, then $after"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: stat-refresh
# row: 30
# class: exclude
# kind: script
# notick: no
# in: check
# about: every CPU's memory statistics are added up at once, and the caller waits
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/sys/vm/stat_refresh
[ -e "$file" ] || missing stat_refresh
refresh() {
	cat "$file" >/dev/null || answer false "stat_refresh failed"
}
# Eight pages are fewer than a CPU keeps to itself: only the refresh shows them.
refresh
before=$(vmstat nr_shmem)
dd if=/dev/zero of=/tmp/lab-stat bs=4k count=8 2>/dev/null
refresh
after=$(vmstat nr_shmem)
rm /tmp/lab-stat
refresh
end=$(vmstat nr_shmem)
[ "$after $end" = "$((before + 8)) $before" ] && answer true "8 pages of shared memory seen to come and go"
answer false "pages of shared memory: $before, then $after, then $end"

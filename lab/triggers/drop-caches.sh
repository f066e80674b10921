#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: drop-caches
# row: 28, 30
# class: quiesce
# kind: script
# notick: no
# in: run check
# about: caches are dropped and the per-CPU statistics refreshed: work for every CPU, and the caller waits
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

before=$(vmstat drop_pagecache)
[ -n "$before" ] || missing vm_event_counters
put 3 /proc/sys/vm/drop_caches
cat /proc/sys/vm/stat_refresh >/dev/null || answer false "stat_refresh failed"
put 1 /proc/sys/vm/drop_caches
after=$(vmstat drop_pagecache)
[ "$after" -ge $((before + 2)) ] && answer true "caches dropped twice, statistics refreshed"
answer false "drop_pagecache went from $before to $after"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: compact-memory
# row: 18, 34
# class: exclude
# kind: script
# notick: yes
# in: run
# about: all memory is compacted: pages migrate, the task's must not
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

[ -e /proc/sys/vm/compact_memory ] || missing compact_memory
before=$(($(vmstat compact_migrate_scanned) + $(vmstat compact_free_scanned)))
put 1 /proc/sys/vm/compact_memory
after=$(($(vmstat compact_migrate_scanned) + $(vmstat compact_free_scanned)))
[ $after -gt $before ] && answer true "$((after - before)) pages scanned"
answer false "no page was scanned"

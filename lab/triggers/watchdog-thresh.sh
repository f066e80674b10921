#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: watchdog-thresh
# row: 86
# class: quiesce
# kind: script
# notick: no
# in: run
# about: the lockup watchdog's threshold changes: it restarts on every CPU that it watches
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/sys/kernel/watchdog_thresh
[ -e "$file" ] || missing watchdog_thresh
old=$(cat $file)
put $((old + 1)) "$file"
[ "$(cat "$file")" = $((old + 1)) ] || answer false "threshold did not change"
put "$old" "$file"
[ "$(cat "$file")" = "$old" ] && answer true "$old to $((old + 1)) and back"
answer false "threshold not restored"

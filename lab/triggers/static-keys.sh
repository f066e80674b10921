#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: static-keys
# row: 1, 2
# class: defer
# kind: script
# notick: yes
# in: run check
# about: a static key is switched: kernel text is patched on every CPU
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

file=/proc/sys/kernel/sched_schedstats
[ -e "$file" ] || missing sched_schedstats
old=$(cat $file)
n=0
flip "$file" 1 0 1 0 1 0
put "$old" "$file"
[ $n = 6 ] && answer true "6 flips"
answer false "$n of 6 flips read back"

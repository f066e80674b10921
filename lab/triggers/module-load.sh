#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: module-load
# row: 3, 10, 12, 35
# class: defer
# kind: script
# notick: yes
# in: run check
# about: a module is loaded and unloaded: text, permissions and vmalloc unmaps
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

module=$(module dummy)
[ -n "$module" ] || missing "dummy.ko in /lib/modules/$(uname -r)"
n=0
# Without a network device: taking one away asks every CPU for its backlog.
for _ in 1 2; do
	insmod "$module" numdummies=0 || answer false "insmod failed"
	[ -d /sys/module/dummy ] && n=$((n + 1))
	rmmod dummy || answer false "rmmod failed"
	[ -d /sys/module/dummy ] || n=$((n + 1))
done
[ $n = 4 ] && answer true "2 loads and unloads"
answer false "$n of 4 steps seen in /sys/module"

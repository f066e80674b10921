#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: netdev
# row: 67, 80
# class: remote
# kind: script
# notick: no
# in: run
# about: a network device is made and removed: backlogs are flushed and expedited RCU runs
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

module=$(module dummy)
[ -n "$module" ] || missing "dummy.ko in /lib/modules/$(uname -r)"
insmod "$module" numdummies=0 || answer false "insmod failed"
n=0
for _ in 1 2 3; do
	ip link add lab0 type dummy || answer false "ip link add failed"
	ip link set lab0 up
	[ -d /sys/class/net/lab0 ] && n=$((n + 1))
	ip link del lab0 || answer false "ip link del failed"
	[ -d /sys/class/net/lab0 ] || n=$((n + 1))
done
rmmod dummy || answer false "rmmod failed"
[ $n = 6 ] && answer true "3 devices came and went"
answer false "$n of 6 steps seen in /sys/class/net"

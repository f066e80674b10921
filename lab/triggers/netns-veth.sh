#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: netns-veth
# row: 80, 67
# class: remote
# kind: script
# notick: no
# timeout: 40
# about: as for a container: a network namespace, a pair of devices, packets, and all removed
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

modprobe veth || missing "veth.ko in /lib/modules/$(uname -r)"
n=0
for _ in 1 2; do
	unshare -n sleep 20 &
	holder=$!
	ip link add lab0 type veth || answer false "ip link add failed"
	index=$(cat /sys/class/net/lab0/iflink)
	peer=$(grep -lx "$index" /sys/class/net/*/ifindex)
	peer=${peer%/ifindex}
	peer=${peer##*/}
	while [ "$(readlink /proc/$holder/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do
		sleep 0.01
	done
	ip link set "$peer" netns $holder || answer false "the device does not move"
	ip addr add 10.99.0.1/24 dev lab0
	ip link set lab0 up
	nsenter -t $holder -n ip addr add 10.99.0.2/24 dev "$peer"
	nsenter -t $holder -n ip link set "$peer" up
	ping -q -c 1 -W 5 10.99.0.2 >/dev/null && n=$((n + 1))
	ip link del lab0 || answer false "ip link del failed"
	[ -d /sys/class/net/lab0 ] || n=$((n + 1))
	kill $holder
	wait $holder
done
modprobe -r veth || answer false "the module does not go"
[ $n = 4 ] && answer true "2 pairs came, carried packets and went"
answer false "$n of 4 steps seen"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: library
# cpus: 2
# kernel: arm64
# timeout: 120
# about: the shared library on arm64: its examples, its tests, 10^5 messages between two CPUs
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

built=${LAB:-/lab}/built

# good NAME ARGUMENT...: it ends with 0
good() {
	name=$1
	shift
	out=$("$built/$name" "$@" 2>&1)
	code=$?
	echo "$out" | tail -n 4 | sed 's/^/# /'
	[ $code = 0 ]
	check $? "$name: exit $code"
}

good examples/topology
echo "$out" | grep -q '^online 0-1, '
check $? "the topology finds both CPUs"
echo "$out" | grep -q '^best: CPU 1 '
check $? "and CPU 1 best, as the first has duties of its own"
good examples/alloc
good examples/resource
good examples/channel
good examples/inbox
good examples/letters
good tests/test-channel-stream processes 100000
for path in "$built"/tests/test-*; do
	[ "${path##*/}" = test-channel-stream ] || good "tests/${path##*/}"
done
done_testing

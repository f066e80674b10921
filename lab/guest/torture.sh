# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A torture module of the kernel beside a task that is isolated on CPU 3.
# Sourced after tap.sh.
# torture MODULE "MODULE ARGUMENTS" SPINNER ARGUMENTS...

torture() {
	name=$1 arguments=$2
	shift 2
	need_isolator
	module=$(find "/lib/modules/$(uname -r)" -name "$name.ko*" 2>/dev/null | head -n 1)
	[ -n "$module" ] || bail_out "no $name.ko in /lib/modules/$(uname -r)"
	torture=$(find "/lib/modules/$(uname -r)" -name 'torture.ko*' | head -n 1)
	echo 3 >/proc/isolator/cpus

	# Its threads run on CPUs 0 to 2 or move there; CPU 3 is what they call and wait for.
	"${LAB:-/lab}/bin/spinner" --cpu 3 --isolate --ctl /run/torture.sock --spin-ms 500 "$@" &
	spinner=$!
	for _ in $(seq 100); do
		[ -e /run/torture.sock ] && spinctl --ctl /run/torture.sock status >/dev/null 2>&1 && break
		sleep 0.1
	done
	spinctl --ctl /run/torture.sock status | grep -q '"isolated":true'
	check $? "a task is isolated on CPU 3"
	dmesg -c >/dev/null
	[ -z "$torture" ] || insmod "$torture"
	# shellcheck disable=SC2086 # several arguments
	insmod "$module" $arguments
	check $? "$name starts"
	sleep 30
	rmmod "$name"
	check $? "$name ends after 30 s"
	[ -z "$torture" ] || rmmod torture
	verdict=$(dmesg | grep -E 'End of test' | tail -n 1)
	echo "# $verdict"
	echo "$verdict" | grep -q SUCCESS
	check $? "$name says SUCCESS"
	status=$(spinctl --ctl /run/torture.sock status)
	echo "$status" | grep -q '"isolated":true'
	check $? "the task is still isolated"
	echo "# $status"
	spinctl --ctl /run/torture.sock quit >/dev/null
	wait $spinner
	done_testing
}

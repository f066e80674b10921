#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: selftests
# cpus: 2
# kernel: isolator
# timeout: 60
# about: the self-tests that go into the kernel's tree pass, each of them
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

need_isolator

# selftest PROGRAM
selftest() {
	name=${1##*/selftest-}
	command_run "$1"
	echo "$out" | sed "s/^/# $name: /"
	exits 0 "$name"
	says "^# Totals: pass:[1-9][0-9]* fail:0 xfail:0 xpass:0 skip:0 error:0" "$name: all passed"
}

for program in "${LAB:-/lab}"/bin/selftest-*; do
	selftest "$program"
done

grep -q '^isolated $' /proc/isolator/status
check $? "no CPU stays isolated"
done_testing

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: locking
# cpus: 2
# kernel: isolator-debug
# timeout: 30
# about: the locking self-tests of the kernel passed when it booted
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

# They run before the first process, so what they said is all there is to test.
verdict=$(dmesg | grep -E 'Good, all +[0-9]+ testcases passed|BUG: +[0-9]+ unexpected failures' | tail -n 1)
[ -n "$verdict" ] || bail_out "no locking self-tests in this kernel's log"
echo "# $verdict"
echo "$verdict" | grep -q 'Good, all'
check $? "all locking self-tests passed"
done_testing

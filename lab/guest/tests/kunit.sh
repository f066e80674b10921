#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: kunit
# cpus: 4
# kernel: isolator-faults
# timeout: 30
# append: kunit.enable=1
# about: the KUnit suites of Isolator passed when the kernel booted
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

# It runs before the first process: its lines in the log are all there is to test.
cases=$(dmesg | grep -E '(not )?ok [0-9]+ isolator_test_' | sed 's/^\[[^]]*\] *//')
[ -n "$cases" ] || bail_out "no KUnit in this kernel's log"
echo "$cases" | sed 's/^/# /'
! echo "$cases" | grep -q 'not ok'
check $? "no case failed"
# Of the rest each has what it needs in this guest.
skipped=$(echo "$cases" | grep SKIP | grep -v isolator_test_irq_pending) || :
[ -z "$skipped" ]
check $? "no case but isolator_test_irq_pending was skipped"
for suite in isolator isolator_callers isolator_mask isolator_pool isolator_rings isolator_messages isolator_peer; do
	dmesg | grep -qE "\\] ok [0-9]+ $suite\$"
	check $? "the suite $suite passed"
done
done_testing

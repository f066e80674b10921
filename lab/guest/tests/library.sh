#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: library
# cpus: 2
# kernel: isolator
# timeout: 30
# about: libisolator's examples, in C and C++, on the real kernel
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

need_isolator

# example NAME ALLOWED: its exit code is one of these
example() {
	name=$1 allowed=$2
	out=$("${LAB:-/lab}/bin/example-$name" 2>&1)
	code=$?
	echo "$out" | sed 's/^/# /'
	case " $allowed " in
	*" $code "*) check 0 "$name: exit $code" ;;
	*) check 1 "$name: exit $code, not one of $allowed" ;;
	esac
}

echo >/proc/isolator/cpus
example deadline 1
echo "$out" | grep -q /proc/isolator/cpus
check $? "without leave it is refused, and the text says what to do"

echo 1 >/proc/isolator/cpus
example deadline 0
# A deadline miss of the default D_spin is the emulator's: its CPUs stand still at times.
example spin "0 2"
example nested 0
example poll 0
example alloc 0
example resource 0
example topology 0
example channel 0
example letters 0
grep -q '^isolated $' /proc/isolator/status
check $? "no CPU stays isolated"
done_testing

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The manual pages, as they are installed, have what the tables have, and show what is
# really printed.   with-fixtures manual.sh ISOLATOR MAN-DIRECTORY
set -eu

isolator=$1
man=$2
# shellcheck source=lab/guest/tap.sh
. "${0%/*}/../../../lab/guest/tap.sh"

# same TEXT: what is wanted is what there is, and some; else how they differ
same() {
	[ -s have ] && diff wanted have >differ
	check $? "$1"
	sed 's/^/# /' differ
}

# sample PAGE: what it shows below "# isolator ..." or, not as root, "$ isolator ..."
sample() {
	sed -n '/^\.SH HOW TO READ IT/,/^\.EE/p' "$1" | sed '1,/^[#$] isolator/d; /^\.EE/d; s/\\-/-/g'
}

set +e
: >differ
for page in "$man"/isolator*.1; do
	name=$(basename "$page" .1)
	# No mark is left, and no request is broken by a word of the tables.
	! grep '^\.\\" [ceo]' "$page" && grep -q '^\.B "\\-h, \\-\\-help"$' "$page" &&
		{ ! command -v mandoc >/dev/null || mandoc -T lint -W warning "$page"; }
	check $? "$name.1 is filled in"
	[ "$name" = isolator ] || {
		grep -q '^\.SH EXIT STATUS$' "$page" && grep -q '^\.SH EXAMPLES$' "$page"
		check $? "$name.1 has exit codes and examples"
	}
done
"$isolator" why --proc manual-later >wanted
sample "$man/isolator-why.1" >have
same "the sample of isolator-why.1"
# Whose the isolation of CPU 1 is: thread 42 of process 40.
mkdir -p root/proc/42
printf '1 (motor) R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n' >root/proc/42/stat
printf 'Name:\tmotor\nTgid:\t40\nCpus_allowed_list:\t1\n' >root/proc/42/status
"$isolator" status --proc manual-later --root root >wanted
# The fixture does not say for how long.
sample "$man/isolator-status.1" | sed 's/, for [0-9.]* s;/;/' >have
same "the sample of isolator-status.1"
done_testing

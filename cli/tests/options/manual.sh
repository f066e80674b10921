#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The manual pages say the options that there are, in the words of --help, and show
# what is really printed.   with-fixtures manual.sh ISOLATOR MAN-DIRECTORY
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

# section PAGE: its OPTIONS
section() {
	sed -n '/^\.SH OPTIONS/,/^\.SH/p' "$1" | sed '1!{/^\.SH/d}'
}

# sample PAGE: what it shows below "# isolator ..." or, not as root, "$ isolator ..."
sample() {
	sed -n '/^\.SH HOW TO READ IT/,/^\.EE/p' "$1" | sed '1,/^[#$] isolator/d; /^\.EE/d; s/\\-/-/g'
}

set +e
: >differ
for name in '' attach audit configure detach export interfere measure prove restore run shield status watch why; do
	page=$man/isolator${name:+-$name}.1
	# shellcheck disable=SC2086 # none is no word
	"$isolator" manual-options $name >wanted
	section "$page" >have
	same "options of ${page##*/}"
	for code in $("$isolator" ${name:-help} ${name:+--help} | sed -n '/^exit status/,$s/^  \([0-9][0-9]*\) .*/\1/p'); do
		sed -n '/^\.SH EXIT STATUS/,/^\.SH/p' "$page" | grep -qx "\.B $code"
		check $? "exit code $code in ${page##*/}"
	done
done
"$isolator" why --proc manual-later >wanted
sample "$man/isolator-why.1" >have
same "the sample of isolator-why.1"
# Whose the isolation of CPU 1 is: thread 42 of 40, and not thread 40, which is not bound.
mkdir -p root/proc/40/fd root/proc/40/task/40 root/proc/40/task/42 root/proc/42
ln -s /dev/isolator root/proc/40/fd/3
for thread in '42 1' '40 0-3'; do
	printf '1 (motor) R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n' >"root/proc/${thread% *}/stat"
	printf 'Name:\tmotor\nTgid:\t40\nCpus_allowed_list:\t%s\n' "${thread#* }" >"root/proc/${thread% *}/status"
done
"$isolator" status --proc manual-later --root root >wanted
# The fixture does not say when the isolation began.
sample "$man/isolator-status.1" | sed 's/, for [0-9.]* s;/;/' >have
same "the sample of isolator-status.1"
done_testing

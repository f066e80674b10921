#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: versions
# cpus: 2
# kernel: isolator
# timeout: 30
# about: libraries that are newer or older than the kernel say so, and work as far as both agree
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

need_isolator

echo 1 >/proc/isolator/cpus

# library NAME: what bin/version says, linked with that one
library() {
	command_run "${LAB:-/lab}/bin/version-$1"
	echo "$out" | sed "s/^/# $1: /"
	exits 0 "$1"
}

# works WORD...: these calls do
works() {
	for word in "$@"; do
		says "^$word \([0-9]\|yes\)" "$word works"
	done
}

# fails WORD ERRNO TEXT: it does, and says how the kernel differs
fails() {
	says "^$1 -$2: the running kernel's Isolator is $3" "$1: $3"
}

EPROTO=71 ENOTTY=25

library same
works start page tick stop task stop-task

library grown
works start page tick stop task stop-task

library page-newer
fails start $EPROTO "older than this libisolator: its shared page has an earlier version"
says "^page no" "what was started is undone"
works task stop-task

library page-older
fails start $EPROTO "newer than this libisolator: its shared page has a later version"
says "^page no" "what was started is undone"
works task stop-task

library other-start
fails start $EPROTO "older or newer than this libisolator, and does not know its start"
works task stop-task

library other-task
works start page tick stop
fails task $ENOTTY "older or newer than this libisolator, and does not know its start of another thread"
fails stop-task $ENOTTY "older or newer than this libisolator, and does not know its stop of another thread"

grep -q '^isolated $' /proc/isolator/status
check $? "no CPU stays isolated"
done_testing

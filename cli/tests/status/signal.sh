#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What is live ends by a signal, cleanly and at once.   with-fixtures signal.sh ISOLATOR
set -eu

isolator=$1
# shellcheck source=lab/guest/tap.sh
. "${0%/*}/../../../lab/guest/tap.sh"

# ends SIGNAL SAYS CODE ARGUMENT...: it says SAYS, gets SIGNAL, exits with CODE
ends() {
	signal=$1 says=$2 code=$3
	shift 3
	: >said
	# Below nohup(1) SIGHUP is ignored, and no shell can undo that.
	env --default-signal=HUP "$isolator" "$@" >said 2>&1 &
	pid=$!
	tries=0
	# What says nothing yet is waited for until it sleeps, and minds signals.
	until if [ -n "$says" ]; then grep -q "$says" said; else
		grep -q 'State:.*S' "/proc/$pid/status" &&
			grep -q 'Sig\(Cgt\|Blk\):.*[1-9a-f]' "/proc/$pid/status"
	fi; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || break
		sleep 0.1	# sleep: between two looks
	done
	[ $tries -lt 600 ]
	check $? "$* has begun"
	kill -s "$signal" "$pid"
	got=0
	wait "$pid" || got=$?
	[ $got = "$code" ]
	check $? "$* ends by SIG$signal with $code (it was $got)"
}

set +e
for signal in INT TERM HUP; do
	ends $signal '^CPU 1' 0 status --live --proc quiet --interval 30
done
ends INT 'isolator.status' 0 status --live --proc quiet --interval 0.05 --json
[ -z "$(tail -c 1 said)" ] && tail -n 1 said | grep -q '}$'
check $? "the last line is whole"
ends INT '^No CPU' 0 status --live --proc none --interval 30
ends TERM '' 0 why --proc quiet --time 60
grep -q '^CPU 1, in' said
check $? "why tells of the span that was cut short"

# Not those that the caller wants ignored.
(
	trap '' HUP
	"$isolator" status --live --proc quiet --interval 0.05 --count 6 >said &
	kill -s HUP $!
	wait $!
) && [ "$(grep -c '^CPU 1' said)" = 6 ]
check $? "nohup is obeyed"

done_testing

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each wrong line of a file of /proc/isolator is an error that names it; what a newer
# kernel may add is not.   with-fixtures errors.sh ISOLATOR
set -eu

isolator=$1
# shellcheck source=lab/guest/tap.sh
. "${0%/*}/../../../lab/guest/tap.sh"

# ends CODE PATTERN TEXT: isolator why of what is in changed; a message may be longer than a line
ends() {
	command_run "$isolator" why --proc changed
	[ "$code" = "$1" ] && echo "$out" | tr '\n' ' ' | grep -q "$2"
	set -- $? "$3"
	check "$1" "$2"
	[ "$1" = 0 ] || echo "$out" | sed 's/^/# /'
}

# change FILE SED-SCRIPT: the fixture busy with another FILE
change() {
	rm -rf changed
	cp -r busy changed
	sed "$2" "busy/$1" >"changed/$1"
	cmp -s "busy/$1" "changed/$1" && {
		echo "Bail out! nothing changed by $2"
		exit 1
	}
}

# bad FILE LINE SED-SCRIPT: an error that names the line and what mends it
bad() {
	change "$1" "$3"
	ends 1 "^isolator why: changed/$1, line $2: .*install" "$1, line $2: $3"
}

# good FILE SED-SCRIPT: no error
good() {
	change "$1" "$2"
	ends 2 '' "$1 may have: $2"
}

set +e
bad status 1 '1s/version/vers/'
bad status 1 '1s/1/x/'
bad status 2 '2s/1-3/3-1/'
bad status 2 '2s/allowed/Allowed/'
bad status 4 '4s/isolated/isolating/'
bad status 4 '4s/mask 0x7/mask 0xg/'
bad status 4 '4s/mask 0x7/mask -7/'
bad status 4 '4s/ spin_ns 100000000//'
bad status 4 '4s/deadline_ns 1000000000/deadline_ns soon/'
bad status 4 '4s/cpu 1/cpu one/'
bad status 4 '4s/cpu 1/cpu 8192/'
bad status 5 '5s/cpu 2/cpu 1/'
bad status 5 '5s/ended exit/ended/'
bad stats 1 '1s/deferred 57/deferred/'
bad stats 1 '1s/deferred 57/deferred 57 deferred 57/'
bad stats 1 '1s/deferred 57/deferred 99999999999999999999/'
bad stats 1 '1s/excluded 6 //'
bad stats 1 '1s/ excluded/  excluded/'
bad stats 2 '2s/kind call/kind/'
bad stats 1 '1s/^/  /'
bad stats 3 '3s/.*//'
bad stats 3 '3s/.*/cpu 1/'
bad stats 3 '3s/cpu/CPU/'
bad senders 1 '1s/ comm insmod//'
bad senders 1 '1s/callback do_sync_core //'
bad senders 1 '1s/^/  /'
bad senders 2 '2s/^  //'
bad deliveries 1 '1s/kind call //'
bad deliveries 1 '1s/pid 77/pid x/'

change status '1s/1/2/'
ends 1 'has version 2, this command knows 1: install' "another version of the files"
change stats '1d'
ends 1 'has no total of CPU 1' "no total of a CPU"
change status '2d'
ends 1 'no "allowed" in it' "no list of allowed CPUs"
change stats '1d'
head -c 700 busy/stats >changed/stats
ends 1 'cut off' "a file that is cut off"
printf 'version 1\n\0' >changed/status
ends 1 'not a text file' "a file that is no text"
rm changed/stats
mkdir changed/stats
cp busy/status changed/status
ends 1 '^isolator why: changed/stats: Is a directory' "a file that cannot be read"

good status '4s/$/ colour 7 shape round/'
good status '5s/$/ at_ns 7/'
good status '3i weather fine and warm'
good stats '1s/$/ delayed 5/'
good stats '1i cpu 1 temperature 40'
good senders '1s/ kind call/ flavour sweet [mod] kind call/'
good senders '1s/comm insmod/comm  two  blanks /'
good deliveries '1s/ kind call/ kind telepathy/'
# CPU 9 was isolated after status had been read.
# shellcheck disable=SC2016 # sed's $, not sh's
good stats '$a cpu 9 total deferred 0 excluded 0 queued 0 missed 0 immediate 0 refused 0'
# shellcheck disable=SC2016
good senders '$a cpu 9 sender callback - kind wake deferred 1 excluded 0 queued 0 missed 0 immediate 0 refused 0 longest_ns 0 comm x'
# As if CPU 1, with all that it has, was not isolated yet when status was read.
sed '/^cpu 1 /d; s/^isolated .*/isolated 3/' busy/status >changed/status
cp busy/senders changed/senders
command_run "$isolator" why --proc changed
[ "$code" = 0 ] && ! echo "$out" | grep -q 'CPU 1'
check $? "a CPU that status does not have"

done_testing

# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Sourced by the guest tests that are scripts: TAP output, exit 0, 1 or 77.

tap_n=0
tap_bad=0

# ok CONDITION-STATUS TEXT
check() {
	tap_n=$((tap_n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_n - $2"
	else
		echo "not ok $tap_n - $2"
		tap_bad=$((tap_bad + 1))
	fi
}

# command_run COMMAND...: its output in $out, its exit code in $code
command_run() {
	out=$("$@" 2>&1)
	code=$?
}

# says PATTERN TEXT: it stands in $out
says() {
	echo "$out" | grep -q -- "$1"
	check $? "$2"
}

# exits CODE TEXT
exits() {
	[ "$code" = "$1" ]
	check $? "$2: exit $code"
}

# Only for what the header's "skips:" says.
skip_all() {
	echo "1..0 # SKIP $1"
	exit 77
}

bail_out() {
	echo "Bail out! $1"
	exit 1
}

need_isolator() {
	[ -e /proc/isolator/cpus ] || bail_out "no /proc/isolator: this kernel has no Isolator"
}

done_testing() {
	echo "1..$tap_n"
	[ "$tap_bad" = 0 ] && [ "$tap_n" -gt 0 ]
	exit $?
}

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: smoke
# cpus: 2
# kernel: arm64
# timeout: 60
# about: the isolator command on arm64, on a kernel without Isolator
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

bin=${LAB:-/lab}/bin

# run ARGUMENT...: the command; its output in $out, its exit code in $code
run() {
	command_run "$bin/isolator" "$@"
	echo "$out" | sed 's/^/# /'
}

[ "$(uname -m)" = aarch64 ]
check $? "the machine is an arm64"
run --version
exits 0 "--version"
says '^isolator [0-9]' "it says its version"
run --help
exits 0 "--help"
says '^  prove ' "it lists prove"
run status
exits 1 "status"
says 'no Isolator' "status: the kernel has none"
run status --live --count 1
exits 1 "status --live"
says 'no Isolator' "status --live: the kernel has none"
run audit -c 1
exits 2 "audit: not fit, as the kernel has no Isolator"
says 'this is a virtual machine' "audit: this is one"
run audit -c 1 --json
says '"schema":"isolator.audit"' "audit --json"
says '"id":"machine.virtual"' "audit --json: the machine"
! echo "$out" | grep -q -e timer.clock-calls -e timer.event-stream
check $? "audit --json: the clock is read in user mode, and its event stream ends each WFE"

# Its exit status, in the file that it looks at.
printf '\007\0' >/tmp/plain
run run -c 1 -- "$bin/plain" /tmp/plain
exits 7 "run passes the exit status on"
run run -c 1 -- /bin/busybox true
exits 0 "run: a program that succeeds"
run restore
exits 0 "restore: nothing is left to do"
done_testing

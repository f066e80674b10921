#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: prove
# cpus: 2
# kernel: isolator
# timeout: 120
# about: isolator prove finds an isolated CPU quiet, and names what interrupts it
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

bin=${LAB:-/lab}/bin

need_isolator

# run ARGUMENT...: prove of CPU 1
run() {
	command_run "$bin/isolator" prove -c 1 "$@"
	echo "$out" | sed 's/^/# /'
}

echo >/proc/isolator/cpus
run -t 1
exits 1 "a CPU that may not be isolated"
says 'echo LIST > /proc/isolator/cpus' "and what to do about it"

echo 1 >/proc/isolator/cpus
run -t 5
exits 0 "a quiet CPU"
says '^CPU 1, isolated; deadline 1 s' "it is isolated, with the default deadline"
says '^  Isolator .* counts$' "the kernel's own counts moved before and after"
says '^quiet: CPU 1, ' "the last line"
run -t 1 --json
exits 0 "a quiet CPU, as JSON"
says '"how":"isolator"' "how it was isolated"

# An immediate delivery a second: the stack of every CPU is always delivered at once.
while sleep 1; do echo l >/proc/sysrq-trigger; done &	# sleep: one a second
planted=$!
trap 'kill $planted 2>/dev/null' EXIT
run -t 5
kill $planted
exits 2 "an interruption a second"
says '^    immediate .*nmi_cpu_backtrace' "it is named"

run -t 2 --plain
exits 2 "the same CPU without isolation"
says '^    \(LOC .*Local timer interrupts\|.* arch_timer\)' "the tick is named"
done_testing

# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Sourced by the tests of isolator prove.
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

bin=${LAB:-/lab}/bin
# As isolator audit says: else its timer comes once in each window, and is named rightly.
# Linux 6.12 may warn that it has lost count of bandwidth when this is written for a CPU of
# isolcpus=domain, whoever writes it.
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
echo 0 >/sys/kernel/debug/sched/fair_server/cpu1/runtime
# prove ARGUMENT...: of CPU 1; its output in $out, its exit code in $code
prove() {
	# shellcheck disable=SC2086 # a command with its arguments, or none
	command_run ${under:-} "$bin/isolator" prove -c 1 "$@"
	echo "$out" | sed 's/^/# /'
}

# planted SECONDS: an interruption a second, for one run of prove that is so long
planted() {
	beats="[$(($1 - 1))-$(($1 + 1))]"
	"$bin/beat" 1 &
	beat=$!
	trap 'kill $beat 2>/dev/null' EXIT
	prove -t "$1"
	kill $beat
	wait $beat 2>/dev/null
	exits 2 "an interruption a second"
	says "^    involuntary  *$beats .*switches: another task ran" \
		"it is named, and as often as it came"
}

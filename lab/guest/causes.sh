#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Who asked for what of the observed CPU while something happened:
#   causes begin; ...; causes end
# On an Isolator kernel the difference of /proc/isolator, else the inter-processor
# interrupts that a tracing instance of its own recorded.  One line a cause:
#   cause COUNTS kind KIND callback F longest_ns N comm NAME, its stack indented below it.
set -u

proc=/proc/isolator
trace=/sys/kernel/tracing/instances/lab
state=/run/causes
mkdir -p "$state"

arm_trace() {
	mkdir "$trace" 2>/dev/null || return 0
	echo "cpu == ${ISO_CPU:?}" >"$trace/events/ipi/ipi_send_cpu/filter"
	echo "cpumask & CPUS{$ISO_CPU}" >"$trace/events/ipi/ipi_send_cpumask/filter"
	echo "cpu == $ISO_CPU" >"$trace/events/csd/csd_queue_cpu/filter"
	echo 1 >"$trace/events/csd/csd_queue_cpu/enable"
	echo 1 >"$trace/events/ipi/ipi_send_cpu/enable"
	echo 1 >"$trace/events/ipi/ipi_send_cpumask/enable"
}

totals() {
	echo "$1 $(grep "^cpu $ISO_CPU total " "$proc/stats")"
}

# Only what grew since the first file, with what it grew by.
grown() {
	awk '
	{ before = FILENAME == ARGV[1] }
	/^cpu / {
		comm = index($0, " comm "); name = substr($0, comm + 6)
		id = $5 " " $7 " " name
		line = "cause kind " $7 " callback " $5; some = 0
		for (i = 8; i + 1 <= NF && $i != "comm"; i += 2) {
			n = $(i + 1)
			if ($i != "longest_ns") {
				n -= old[id, $i]
				if (before) old[id, $i] = $(i + 1)
				some += n
			}
			line = line " " $i " " n
		}
		show = !before && some > 0
		if (show) print line " comm " name
		next
	}
	show { print }
	' "$1" "$2"
}

case ${1-} in
arm) [ -e "$proc" ] || arm_trace ;;
begin)
	if [ -e "$proc" ]; then
		echo reset longest >"$proc/stats"
		totals begin >"$state/begin"
		cat "$proc/senders" >"$state/before"
		totals begun >>"$state/begin"
	else
		echo >"$trace/trace"
	fi
	;;
end)
	if [ -e "$proc" ]; then
		totals end >>"$state/begin"
		cat "$proc/senders" >"$state/after"
		totals ended >>"$state/begin"
		cat "$state/begin"
		grown "$state/before" "$state/after"
		grep "^cpu $ISO_CPU kind " "$proc/stats"
	else
		grep -v '^#' "$trace/trace" | awk '
		{
			at = match($0, /-[0-9]+ +\[/)
			comm = substr($0, 1, at - 1); sub(/^ +/, "", comm)
			# Cross-calls are named where they are queued, not where they are sent.
			if (/callback=generic_smp_call/) next
			kind = /csd_queue_cpu/ ? "call" : "resched"
			call = $0; sub(/.*(callback|func)=/, "", call); sub(/[+ ].*/, "", call)
			site = $0; sub(/.*callsite=/, "", site); sub(/ .*/, "", site)
			n[comm "\t" kind "\t" call "\t" site]++
		}
		END {
			for (k in n) {
				split(k, p, "\t")
				print "cause kind " p[2] " callback " (p[3] ? p[3] : "-") \
					" sent " n[k] " comm " p[1]
				print "  " p[4]
			}
		}'
	fi
	;;
*)
	echo "usage: causes arm|begin|end" >&2
	exit 1
	;;
esac

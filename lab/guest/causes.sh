#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Who asked for what of the observed CPU while something happened:
#   causes begin; ...; causes end
# On an Isolator kernel the difference of /proc/isolator, else the inter-processor
# interrupts that a tracing instance of its own recorded.  One line a cause:
#   cause COUNTS kind KIND callback F longest_ns N comm NAME, its stack indented below it.
set -u

proc=${ISO_PROC:-/proc/isolator}
trace=/sys/kernel/tracing/instances/lab
state=${ISO_STATE:-/run/causes}
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

# Only what grew since the first file, with what it grew by.  One sender may have several
# entries: a module that was loaded again has the same functions elsewhere.
grown() {
	awk '
	{ before = FILENAME == ARGV[1] }
	/^cpu / {
		comm = index($0, " comm "); name = substr($0, comm + 6)
		id = "kind " $7 " callback " $5 "\t" name
		if (!before && !(id in seen)) { seen[id] = 1; order[++ids] = id }
		for (i = 8; i + 1 <= NF && $i != "comm"; i += 2) {
			if (!($i in known)) { known[$i] = 1; keys[++count] = $i }
			n[before, id, $i] += $(i + 1)
			if (!before && $i == "longest_ns" && $(i + 1) > longest[id])
				longest[id] = $(i + 1)
		}
		next
	}
	!before { stack[id] = stack[id] $0 "\n" }
	END {
		for (i = 1; i <= ids; i++) {
			id = order[i]; split(id, part, "\t"); some = 0
			line = "cause " part[1]
			for (k = 1; k <= count; k++) {
				grew = n[0, id, keys[k]] - n[1, id, keys[k]]
				if (keys[k] == "longest_ns") grew = longest[id]
				else some += grew
				line = line " " keys[k] " " grew
			}
			if (some > 0) printf "%s comm %s\n%s", line, part[2], stack[id]
		}
	}
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

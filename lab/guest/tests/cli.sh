#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: cli
# cpus: 2
# kernel: isolator
# arch: x86_64
# timeout: 60
# about: the isolator command names who wanted an isolated CPU, on the real kernel
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

bin=${LAB:-/lab}/bin
key=/proc/sys/kernel/sched_schedstats
tracing=/sys/kernel/tracing

need_isolator
[ -e $key ] || bail_out "no $key: nothing to patch kernel text with"

# run ARGUMENT...: the command
run() {
	command_run "$bin/isolator" "$@"
}

# as_nobody ARGUMENT...: the same without privilege
as_nobody() {
	command_run su nobody -s /bin/sh -c "$bin/isolator $*"
}

# The exit code of why is that of the deadline misses that it counts.  There should be none,
# but an emulated CPU stands still at times.
fits() {
	if echo "$out" | grep -q '"missed":[1-9]'; then [ "$code" = 2 ]; else [ "$code" = 0 ]; fi
	check $? "$1: exit $code"
}

# By name, not by number: sh, not this script, asks.
patch_text() {
	/bin/sh -c "for value in 1 0 1 0; do echo \$value >$key; done"
}

# Each count of CPU 1's senders, added up, and its total.
# shellcheck disable=SC2016 # awk's $0
sums='
function value(text, name) {
	return substr(text, index(text, "\"" name "\":") + length(name) + 3) + 0
}
{
	n = split("deferred excluded queued missed immediate refused", names, " ")
	total = substr($0, index($0, "\"totals\":"))
	rest = substr($0, index($0, "\"senders\":["))
	while ((at = index(rest, "\"counts\":{"))) {
		rest = substr(rest, at + 9)
		for (i = 1; i <= n; i++)
			sum[i] += value(rest, names[i])
	}
	for (i = 1; i <= n; i++) {
		printf "# %s: total %d, senders %d\n", names[i], value(total, names[i]), sum[i]
		wrong += value(total, names[i]) != sum[i]
		all += sum[i]
	}
	exit wrong || !all
}'

[ -e $tracing/trace ] || mount -t tracefs tracefs $tracing
old=$(cat $key)
echo 1 >/proc/isolator/cpus
run status --cpu 1
exits 3 "status with no CPU isolated"
says '^No CPU is isolated' "and it says so"

"$bin/spinner" --cpu 1 --isolate --tick-ms 20 &
spinner=$! patching=
trap 'kill $spinner $patching 2>/dev/null; echo "$old" >$key' EXIT
tries=0
until "$bin/spinctl" 'ready?' 2>/dev/null | grep -q '"isolated":true' || [ $tries = 150 ]; do
	sleep 0.1	# sleep: between two looks
	tries=$((tries + 1))
done
run status
exits 0 "status with CPU 1 isolated"
says '^CPU 1: isolated' "and it says so"

patch_text
"$bin/spinctl" 'self sibling-munmap' | sed 's/^/# /'
! taskset 2 true 2>/dev/null
check $? "a task that wants CPU 1 only is refused"

run status
echo "$out" | sed 's/^/# /'
says ' (unrecorded): do_sync_core$' "status: a row for text that was patched"
says ' spinner: flush_tlb_func$' "status: a row for the sibling and what it waited for"

run status --json --cpu 1
exits 0 "status --json"
says '"names":"seen","consistent":true' "senders are seen, and add up"
says '"callback":"do_sync_core","kind":"call","comm":"(unrecorded)","counts":{"deferred":[1-9]' \
	"text synchronisation: deferred"
says '"callback":"flush_tlb_func","kind":"call","comm":"spinner","counts":{"deferred":0,"excluded":0,"queued":[1-9]' \
	"a flush of the task's memory: queued, by its sibling"
says '"callback":"sched_setaffinity",[^}]*"refused":[1-9]' "an affinity: refused"
echo "$out" | awk "$sums"
check $? "counts of the senders add up to the totals"

run why --top 0
echo "$out" | sed 's/^/# /'
says 'deferred [0-9]* times*: (unrecorded) asked for do_sync_core (kind call)' "why: kernel text was patched"
says 'isolator:isolator_defer' "why: what names who asked for it"
echo 'cpu == 1' >"$tracing/events/isolator/isolator_defer/filter"
echo 1 >"$tracing/events/isolator/isolator_defer/enable"
patch_text
echo 0 >"$tracing/events/isolator/isolator_defer/enable"
grep -q ' sh-[0-9].* isolator_defer: cpu=1 func=do_sync_core' "$tracing/trace"
check $? "the tracepoint names who patched kernel text"
run why --top 0 --json
fits "why --json"
says '"comm":"spinner",.*"stack":\["' "why --json: with stacks"

# Until it has ended: nobody knows when it begins to look.  Longer in a slow guest.
while sleep 0.5; do patch_text; done &	# sleep: now and then
patching=$!
run why --time $((2 * ${SLOWER:-1})) --top 0 --no-stack --json
kill $patching
wait $patching
patching=
fits "why --time"
says '"callback":"do_sync_core","kind":"call","comm":"(unrecorded)","counts":{"deferred":[1-9]' \
	"why --time: kernel text was patched meanwhile"
! echo "$out" | grep -q '"callback":"flush_tlb_func","kind":"call","comm":"spinner"'
check $? "why --time: not who asked before"

as_nobody status --json --cpu 1
exits 0 "status without privilege"
says '"names":"denied"' "names are denied"
says '"totals":{"deferred":[1-9]' "totals are shown"
says '"callbacks":null,"senders":null' "neither callbacks nor senders are"
as_nobody status
says 'for root: sudo isolator status' "and it says how to see them"
as_nobody why --json
fits "why without privilege"
says '"senders":\[\]' "it names nobody"

"$bin/spinctl" quit >/dev/null
wait $spinner
run status --cpu 1
exits 3 "status after the end"
run why --top 0
says '^CPU 1, in its last isolation (' "why tells of the isolation that ended"
says '(unrecorded) asked for do_sync_core' "and of what was asked for"
done_testing

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: rcu-flavours
# row: 67, 68, 46, 124
# class: exclude
# kind: script
# notick: no
# timeout: 40
# about: four less common kinds of RCU are put to the test, each for a moment
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

# One reader and one writer, and none of what the module does beside them.
few="nreaders=1 nfakewriters=1 stat_interval=0 stutter=0 shuffle_interval=0
onoff_interval=0 n_barrier_cbs=0 fwd_progress=0 test_boost=0 read_exit_burst=0
test_no_idle_hz=0 shutdown_secs=0 verbose=0"
n=0
for flavour in tasks tasks-rude tasks-tracing srcu; do
	before=$(newest)
	# shellcheck disable=SC2086 # several arguments
	modprobe rcutorture torture_type=$flavour $few ||
		missing "rcutorture.ko with $flavour in /lib/modules/$(uname -r)"
	sleep 0.5
	modprobe -r rcutorture || answer false "the module does not go after $flavour"
	[ "$(logged "$flavour-torture:.*End of test: SUCCESS" "$before")" = 1 ] && n=$((n + 1))
done
[ $n = 4 ] && answer true "tasks, tasks-rude, tasks-tracing and srcu say SUCCESS"
answer false "$n of 4 say SUCCESS"

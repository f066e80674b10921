#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: damon
# row: 18
# class: refuse
# kind: script
# arch: arm64
# needs: bits of used pages that the CPU does not set by itself
# notick: no
# about: DAMON samples the task's memory: it clears referenced bits, to see whether they are set again
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

all=/sys/kernel/mm/damon/admin/kdamonds
[ -e $all ] || missing DAMON
one=$all/0
put 1 $all/nr_kdamonds
put 1 $one/contexts/nr_contexts
context=$one/contexts/0
put vaddr $context/operations
put 1 $context/targets/nr_targets
put "${TASK_PID:?}" $context/targets/0/pid_target
put 200 $context/monitoring_attrs/intervals/sample_us
put 4000 $context/monitoring_attrs/intervals/aggr_us
# What counts the regions that were sampled, whatever was seen there.
put 1 $context/schemes/nr_schemes
scheme=$context/schemes/0
put stat $scheme/action
put 18446744073709551615 $scheme/access_pattern/sz/max
put 4294967295 $scheme/access_pattern/nr_accesses/max
put 4294967295 $scheme/access_pattern/age/max
put on $one/state
# sleep: it samples meanwhile
sleep 1
put update_schemes_stats $one/state
tried=$(cat $scheme/stats/nr_tried)
put off $one/state
put 0 $all/nr_kdamonds
[ "$tried" -gt 0 ] && answer true "it sampled $tried regions"
answer false "it sampled no region"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: torture-rcu
# cpus: 4
# kernel: isolator
# timeout: 120
# long: yes
# alone: yes
# about: rcutorture passes while a task is isolated that ticks
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"
# shellcheck source=lab/guest/torture.sh
. "${LAB:-/lab}/lib/torture.sh"

torture rcutorture "stat_interval=0 onoff_interval=0" --tick-ms 10

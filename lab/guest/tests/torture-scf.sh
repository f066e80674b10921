#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: torture-scf
# cpus: 4
# kernel: isolator
# timeout: 120
# long: yes
# alone: yes
# about: scftorture passes while a task is isolated that ticks
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"
# shellcheck source=lab/guest/torture.sh
. "${LAB:-/lab}/lib/torture.sh"

torture scftorture "stat_interval=0 nthreads=3" --tick-ms 10

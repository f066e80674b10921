#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: sysrq-backtrace
# row: 85
# class: immediate
# kind: script
# notick: no
# in: check
# about: an administrator asks what every CPU does: a non-maskable interrupt answers
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

[ -e /proc/sysrq-trigger ] || missing sysrq
before=$(newest)
# On the console too: nothing else may be kept from it, and who reads it knows what was asked for.
echo l >/proc/sysrq-trigger
sleep 0.3
shown=$(logged "NMI backtrace for cpu ${ISO_CPU:?}" "$before")
[ "$shown" = 1 ] && answer true "CPU $ISO_CPU showed where it was"
answer false "$shown backtraces of CPU $ISO_CPU in the log"

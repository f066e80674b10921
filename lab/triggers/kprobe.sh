#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: kprobe
# row: 8, 9
# class: defer
# kind: script
# notick: yes
# in: run
# about: a kprobe is planted, hit and taken away
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
[ -e "$tracing/kprobe_events" ] || missing "kprobe events"
echo >"$tracing/trace"
echo 'p:lab/lab_open do_sys_openat2' >>"$tracing/kprobe_events" || answer false "the kprobe was refused"
put 1 "$tracing/events/lab/lab_open/enable"
cat /proc/uptime >/dev/null
put 0 "$tracing/events/lab/lab_open/enable"
n=$(grep -c 'lab_open' "$tracing/trace")
echo '-:lab/lab_open' >>"$tracing/kprobe_events" || answer false "the kprobe was not taken away"
echo >"$tracing/trace"
[ -e "$tracing/events/lab/lab_open" ] && answer false "the kprobe did not go"
[ "$n" -gt 0 ] && answer true "$n hits"
answer false "the kprobe was never hit"

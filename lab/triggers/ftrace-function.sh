#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: ftrace-function
# row: 6
# class: defer
# kind: script
# notick: yes
# in: run check
# about: the function tracer is switched on and off: the system calls are patched, twice
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

need_tracing
grep -q '\bfunction\b' "$tracing/available_tracers" || missing "function tracer"
put nop "$tracing/current_tracer"
echo >"$tracing/trace"
# Some hundred functions show all of it and take seconds less under emulation.
case $(uname -m) in
aarch64) prefix=__arm64_sys_ ;;
*) prefix=__x64_sys_ ;;
esac
put "$prefix*" "$tracing/set_ftrace_filter"
patched=$(wc -l <"$tracing/set_ftrace_filter")
put function "$tracing/current_tracer"
cat /proc/uptime >/dev/null
# Reading adds entries, so recording stops first; nop empties the buffer.
put 0 "$tracing/tracing_on"
n=$(grep -c '<-' "$tracing/trace")
put nop "$tracing/current_tracer"
put 1 "$tracing/tracing_on"
echo >"$tracing/set_ftrace_filter"
[ "$n" -gt 0 ] && answer true "$patched functions patched, $n entries recorded"
answer false "$patched functions patched, no entry recorded"

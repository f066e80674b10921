#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: cpuid-load
# row: 103
# class: yield
# kind: script
# arch: x86_64
# needs: the CPUID device
# notick: no
# about: a module with hot-plug callbacks is loaded and unloaded: each CPU's thread runs them
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

device=/dev/cpu/${ISO_CPU:?}/cpuid
modprobe cpuid || missing "cpuid.ko in /lib/modules/$(uname -r)"
n=0
[ -c "$device" ] && n=1
modprobe -r cpuid || answer false "the module does not go"
[ -c "$device" ] || n=$((n + 1))
[ $n = 2 ] && answer true "$device came and went"
answer false "$n of 2 steps seen at $device"

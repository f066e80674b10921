#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: livepatch
# row: 45, 4, 109
# class: queue
# kind: script
# arch: x86_64
# needs: livepatch, which Linux 6.12 has for no arm64 kernel
# notick: no
# timeout: 40
# about: a kernel function is replaced by a live patch, every task goes over to it, and back
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

module=$(module livepatch-sample)
[ -n "$module" ] || missing livepatch-sample.ko
patch=/sys/kernel/livepatch/livepatch_sample
patched() {
	grep -q 'live patched' /proc/cmdline
}
# until_is WHAT: waits 8 s for "done" (a transition's end) or "gone" (the patch's)
until_is() {
	for _ in $(seq 160); do
		[ "$1" = gone ] && [ ! -e "$patch" ] && return
		[ "$1" = "done" ] && [ "$(cat "$patch/transition")" = 0 ] && return
		sleep 0.05
	done
	return 1
}

patched && answer false "patched already"
insmod "$module" || answer false "insmod failed"
until_is "done" && end="done"
patched && seen=yes
# In the middle of its transition it turns back.
echo 0 >"$patch/enabled" || answer false "the patch cannot be disabled"
until_is gone || answer false "the patch does not go: the transition waits for a task"
patched && answer false "the patch is gone, its effect is not"
rmmod livepatch_sample || answer false "rmmod failed"
[ "${end-}" ] || answer false "the transition was not complete within 8 s, and was undone"
[ "${seen-}" ] && answer true "patched and back, both transitions complete"
answer false "the transition was complete without effect"

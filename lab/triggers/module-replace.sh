#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: module-replace
# row: 3, 10, 12
# class: defer
# kind: script
# notick: no
# about: a module is loaded where another one was: the same addresses hold other text
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

# at NAME: where its text is
at() {
	cat "/sys/module/$1/sections/.text"
}

first=$(module dummy)
second=$(module gf128mul)
[ -n "$first" ] || missing "dummy.ko in /lib/modules"
[ -n "$second" ] || missing "gf128mul.ko in /lib/modules"
same=0
for _ in 1 2 3; do
	insmod "$first" numdummies=0 || answer false "insmod $first failed"
	one=$(at dummy)
	rmmod dummy || answer false "rmmod dummy failed"
	insmod "$second" || answer false "insmod $second failed"
	other=$(at gf128mul)
	rmmod gf128mul || answer false "rmmod gf128mul failed"
	[ "$one" = "$other" ] && same=$((same + 1))
done
[ $same != 0 ] && answer true "$same of 3 times at the same address, $one"
answer false "never at the same address: at $one, then at $other"

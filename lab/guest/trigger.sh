# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Sourced by the triggers that are scripts: how to answer, and small readers.

# answer true|false DETAIL [OUTCOME]: the last line of a trigger
answer() {
	printf '{"worked":%s,"outcome":"%s","detail":"%s"}\n' "$1" "${3:-done}" "$2"
	exit 0
}

# missing WHAT: the kernel has no such facility; a visible skip
missing() {
	printf '{"worked":false,"outcome":"done","detail":"missing: %s"}\n' "$1"
	exit 77
}

# put VALUE FILE: writes it, and ends the trigger when the kernel refuses
put() {
	echo "$1" >"$2" || answer false "writing $1 to $2 failed"
}

# flip FILE VALUE...: writes one after the other, and adds to $n each that the file reads then
flip() {
	flipped=$1
	shift
	for want; do
		put "$want" "$flipped"
		[ "$(cat "$flipped")" = "$want" ] && n=$((n + 1))
	done
}

# module NAME: its file, if the guest has one
module() {
	find "/lib/modules/$(uname -r)" -name "$1.ko*" 2>/dev/null | head -n 1
}

# vmstat NAME: that counter of /proc/vmstat
vmstat() {
	while read -r key value; do
		[ "$key" = "$1" ] && echo "$value"
	done </proc/vmstat
}

# newest: the last line of the kernel's log, time included
newest() {
	dmesg | tail -n 1
}

# logged PATTERN LINE: how many lines with that came after LINE; the log forgets its oldest ones
logged() {
	dmesg | PATTERN=$1 LINE=$2 awk '
		$0 ~ ENVIRON["PATTERN"] { n++ }
		$0 == ENVIRON["LINE"] { n = 0 }
		END { print n + 0 }'
}

tracing=/sys/kernel/tracing

need_tracing() {
	[ -e "$tracing/trace" ] || mount -t tracefs tracefs "$tracing" 2>/dev/null
	[ -e "$tracing/trace" ] || missing tracefs
}

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Replays the transcript: the lines "$ COMMAND" run where the fixtures are laid out,
# what follows each is what it prints, and how it exits unless that is 0.
# How long a CPU has been isolated is another time each time: SPAN.
#   with-fixtures transcript.sh ISOLATOR VIEW TRANSCRIPT [--write]
set -eu

isolator=$1
view=$2
transcript=$3
isolator() { ${user-} "$isolator" "$@"; }
view() { "$view" "$@"; }
# What a command prints in front of it: sh's own functions are out of its reach.
unprivileged() { user=${unprivileged?} "$@"; }
export NO_COLOR=

{
	sed '/^\$ /,$d' "$transcript"
	sed -n 's/^\$ //p' "$transcript" | while read -r command; do
		printf '$ %s\n' "$command"
		code=0
		(eval "$command") 2>&1 </dev/null || code=$?
		[ $code = 0 ] || echo "[exit $code]"
	done
} | sed 's/, for [0-9.]* s\b/, for SPAN/' >said

if [ "${4-}" = --write ]; then
	cp said "$transcript"
else
	diff -u "$transcript" said
fi

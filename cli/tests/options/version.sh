#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The version is Meson's, and the program is static and small.   version.sh ISOLATOR VERSION
set -eu

[ "$("$1" --version)" = "isolator $2" ]
# A dynamic program names its loader in a segment of its own.
if readelf -l "$1" | grep -q INTERP; then
	exit 1
fi
# As it is installed on a target, without what a debugger wants.
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1"
[ "$(stat -c %s "$stripped")" -lt $((3 * 512 * 1024)) ]

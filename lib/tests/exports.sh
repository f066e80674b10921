#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The shared library exports what the version script lists, with its version, and
# nothing else.   exports.sh LIBRARY VERSION-SCRIPT
set -eu

have=$(nm -D --defined-only "$1" | awk '$3 !~ /^LIBISOLATOR_/ { print $3 }' | sort)
want=$(awk '/^LIBISOLATOR_/ { version = $1 } /^local:/ { exit }
	/^\t[a-z_]+;/ { sub(";", "", $1); print $1 "@@" version }' "$2" | sort)
if [ "$have" != "$want" ]; then
	printf 'exported:\n%s\nlisted:\n%s\n' "$have" "$want"
	exit 1
fi
echo "$have"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The C codec needs nothing of a C library but memset() and memmove().
#   needs.sh LIBRARY
set -eu

needed=$(nm --undefined-only "$1" | awk 'NF == 2 { print $2 }' | sort -u)
defined=$(nm --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort -u)
for name in $needed; do
	case $name in
	memset | memmove | memcpy | __stack_chk_fail) continue ;;
	esac
	echo "$defined" | grep -qx "$name" || {
		echo "the codec needs $name()"
		exit 1
	}
done

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Symbols that programs were linked with are there, and abi.c knows all that the headers say.
#   abi.sh LIBRARY SOURCE-DIRECTORY HEADER...
set -eu

library=$1
tests=$2/tests
shift 2
status=0
have=$(nm -D --defined-only "$library" | awk '$3 !~ /^LIBISOLATOR_/ { print $3 }' | sort)
want=$(grep -v '^#' "$tests/abi.symbols")
if [ "$have" != "$want" ]; then
	printf 'exported:\n%s\nin abi.symbols:\n%s\n' "$have" "$want"
	status=1
fi
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = libisolator.so.0 ] || {
	echo "the library is called $soname: a program that was linked before does not find it"
	status=1
}
# Structures, their members, and constants; those of isolator_word_t are tested by their use.
# shellcheck disable=SC2013 # words are what is wanted
for name in $(sed -n 's/^struct \(isolator_[a-z_]*\) {$/\1/p' "$@"); do
	grep -q "STRUCT($name, " "$tests/abi.c" || { echo "not in abi.c: struct $name"; status=1; }
done
# shellcheck disable=SC2013
for name in $(sed -n -e 's/^#define[[:blank:]]*\(ISOLATOR_[A-Z0-9_]*\)[[:blank:]].*/\1/p' \
	-e 's/^[[:blank:]]\(ISOLATOR_[A-Z0-9_]*\)[ ,].*/\1/p' "$@" | sort -u); do
	case $name in
	*_INIT | ISOLATOR_WORD_* | *_H) continue ;;
	esac
	grep -q "VALUE($name, " "$tests/abi.c" || { echo "not in abi.c: $name"; status=1; }
done
exit $status

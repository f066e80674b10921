#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A user's view: install, ask pkg-config, build an example against the result in
# C and C++, shared and static.   installed.sh BUILD-DIRECTORY SOURCE-DIRECTORY
set -eu

build=$1
source=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# No rebuild: this runs under `meson test`, which has the build's lock.
DESTDIR=$root meson install -C "$build" --no-rebuild --quiet
pc=$(find "$root" -name libisolator.pc)
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$root"
flags=$(pkg-config --cflags --libs libisolator)
flags_static=$(pkg-config --static --cflags --libs libisolator)
echo "pkg-config: $flags"
libdir=$(dirname "$(find "$root" -name libisolator.a)")

# shellcheck disable=SC2086 # lists of flags
{
	cc -std=c11 -Wall -Wextra -Werror -pedantic "$source/tests/header.c" $flags \
		-o "$root/c"
	c++ -Wall -Wextra -Werror "$source/tests/header.cc" $flags -o "$root/c++"
	cc -std=c11 -Wall -Wextra -Werror -static "$source/tests/header.c" $flags_static \
		-o "$root/static"
	# What the kernel shares, without the library.
	echo '#include <linux/isolator_ring.h>' | cc -std=c11 -Wall -Wextra -Werror -fsyntax-only \
		$flags -x c -
}
LD_LIBRARY_PATH=$libdir "$root/c"
LD_LIBRARY_PATH=$libdir "$root/c++"
"$root/static"
for page in "$source"/man/*.3; do
	find "$root" -name "${page##*/}*" | grep -q . || { echo "not installed: $page"; exit 1; }
done

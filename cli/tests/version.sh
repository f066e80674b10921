#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The version is Meson's, and the program is static.   version.sh ISOLATOR VERSION
set -eu

[ "$("$1" --version)" = "isolator $2" ]
# A dynamic program names its loader in a segment of its own.
! readelf -l "$1" | grep -q INTERP

# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Sourced by the tests of isolator_scope on wires: the generator of lab/isolab/guests/wires.py.
# shellcheck source=lab/guest/tap.sh
. "${LAB:-/lab}/lib/tap.sh"

# shellcheck disable=SC2034 # for those that source it
bin=${LAB:-/lab}/bin module=${LAB:-/lab}/isolator_scope.ko chip=9030000.pl061
knobs=/sys/class/misc/isolator_scope

# The card behind the one that the reports go to.
port=/dev/ttyS1
stty -F $port raw -echo
exec 3<>$port

# order WORDS: to the generator; its answer in $out
order() {
	echo "$*" >&3
	case $1 in
	begin) out= ;;
	*) read -r out <&3 ;;
	esac
	echo "# $*: $out"
}

# all N TEXT: it sent so many, every one was answered, nothing came unasked
all() {
	says "^triggers $1 whole $1 strays 0 " "$2"
}

# edges LINE: that it saw in its last order
edges() {
	echo "$out" | cut -d ' ' -f $((8 + $1))
}

# refused TEXT-OF-THE-LOG COMMAND...: it fails, and the kernel's log says why
refused() {
	said=$1
	shift
	dmesg -c >/dev/null
	command_run "$@"
	echo "# $*: $out"
	[ "$code" != 0 ] && dmesg | grep -q -- "$said"
	check $? "refused, and said why: $said"
	dmesg | sed 's/^/# /'
}

# on MECHANISM LINE
on() {
	echo "$2" >"$knobs/lines/$1"
}

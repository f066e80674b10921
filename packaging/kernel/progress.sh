# SPDX-License-Identifier: GPL-2.0-or-later
# How far a kernel's build is; read by tools/deb-kernel.  Wants objects, name and cache, and the
# function say.
# shellcheck shell=sh disable=SC2154

# How many objects there will be: as many as the last time, else as options tell.
expected_objects() {
	cat "$cache/deb/objects-$name" 2>/dev/null ||
		awk '/=[ym]$/ { n++ } END { print int(n * 2.24) }' "$objects/.config"
}

# Every object that make says it compiles is noted, so that a second call knows of the first;
# a line twice a minute says how far it is.
progress() {
	touch "$objects/compiled"
	expected=$(expected_objects)
	before=$(sort -u "$objects/compiled" | wc -l)
	begin=$(date +%s) said=0 n=0
	while IFS= read -r l; do
		case $l in
		"  CC "* | "  AS "*) n=$((n + 1)); echo "${l##* }" >>"$objects/compiled" ;;
		*": error: "* | *": warning: "* | *"Error "[0-9]* | "Error: "*) say "$l"; continue ;;
		"  LD      vmlinux" | "  MODPOST "*) say "$name: ${l##  }"; continue ;;
		*) continue ;;
		esac
		now=$(date +%s)
		[ $((now - said)) -ge 30 ] || continue
		said=$now
		of='' eta=''
		left=$((expected - before - n))
		[ $left -lt 0 ] || of=" of about $expected"
		[ $n -lt 20 ] || [ $left -lt 0 ] ||
			eta=", about $(((now - begin) * left / n / 60 + 1)) min left"
		say "$name: $((before + n))$of objects$eta"
	done
}

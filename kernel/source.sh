# SPDX-License-Identifier: GPL-2.0-only
# The source of every kernel that is built here: Debian's, with the overlay and the patches.
# Read by kernel/build and tools/deb-kernel, which set:
#
#   here      the directory of this file
#   line      the line of kernels, as 6.12; stock: not empty: nothing is added to it
#   cache     where trees lie
#   checkout  the name of the tree: none is used by two builds at a time
#   package, version, pristine  Debian's package of the source, its version, its place below $cache
#   series    the list of patches
#
# and the functions die and say.
# shellcheck shell=sh disable=SC2154

# Installs what is missing of the packages given, with sudo where that is needed.
need() {
	"$here/../tools/install-packages" --names "$@" >&2 ||
		die "not all packages could be installed: $*; is the archive reachable?"
}
unpack() {
	exec 8>"$cache/unpack.lock"
	flock 8
	if [ -e "$pristine/.unpacked" ]; then
		exec 8>&-
		return
	fi
	say "unpacking $package $version"
	rm -rf "$pristine"
	mkdir -p "$pristine"
	tar -C "$pristine" --strip-components=1 -xf "/usr/src/$package.tar.xz"
	touch "$pristine/.unpacked"
	exec 8>&-
}

# overlay file -> its place in the tree, one pair a line
overlay() {
	[ -z "$stock" ] || return 0
	for top in isolator:kernel/isolator include:include arch:arch; do
		[ -d "$here/${top%%:*}" ] || continue
		(cd "$here/${top%%:*}" && find . -type f ! -name '*.swp' ! -name '*~') | sort |
			sed "s|^\./\(.*\)|$here/${top%%:*}/\1 ${top#*:}/\1|"
	done
}

patches() {
	[ -z "$stock" ] && [ -e "$series" ] || return 0
	sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$series"
}

# The tree that is built from.  Only files whose content changed are written, so
# that make rebuilds only what they concern.
prepare_tree() {
	unpack
	if [ -n "$stock" ]; then
		tree=$pristine
		return
	fi
	tree=$cache/tree/$checkout-$version
	if [ ! -e "$tree/.touched" ]; then
		say "copying the source"
		rm -rf "$tree"
		mkdir -p "$(dirname "$tree")"
		mkdir "$tree"
		find "$pristine" -mindepth 1 -maxdepth 1 ! -name 'build-*' \
			-exec cp -al -t "$tree" {} +
		: >"$tree/.touched"
	fi
	staged=$tree/.staged
	rm -rf "$staged"
	mkdir -p "$staged"
	{
		for p in $(patches); do
			sed -n -e 's|^+++ [^/]*/\([^[:space:]]*\).*|\1|p' \
				-e 's|^--- [^/]*/\([^[:space:]]*\).*|\1|p' "$here/patches/$line/$p"
		done
		overlay | cut -d ' ' -f 2
	} | grep -v '^dev/null$' | sort -u >"$tree/.touching"
	while read -r f; do
		mkdir -p "$staged/$(dirname "$f")"
		[ ! -e "$pristine/$f" ] || cp -p "$pristine/$f" "$staged/$f"
	done <"$tree/.touching"
	for p in $(patches); do
		patch -d "$staged" -p1 --fuzz=0 --no-backup-if-mismatch -s -f \
			<"$here/patches/$line/$p" >&2 ||
			die "patch $p does not apply to $package $version"
	done
	overlay | while read -r file to; do
		mkdir -p "$staged/$(dirname "$to")"
		cp "$file" "$staged/$to"
	done
	sort -u "$tree/.touching" "$tree/.touched" | while read -r f; do
		want=$staged/$f
		grep -qxF "$f" "$tree/.touching" || want=$pristine/$f
		if [ ! -e "$want" ]; then
			rm -f "$tree/$f"
		elif ! cmp -s "$want" "$tree/$f"; then
			rm -f "$tree/$f"
			mkdir -p "$tree/$(dirname "$f")"
			cp "$want" "$tree/$f"
		fi
	done
	mv "$tree/.touching" "$tree/.touched"
	rm -rf "$staged"
}

# Every option of the fragments on standard input must stand in the configuration $1; those
# that do not are named.
options_took() {
	awk -v config="$1" '
	BEGIN { while ((getline l < config) > 0) { has[l] = 1; n = l; sub(/=.*/, "", n); set[n] = l } }
	/^CONFIG_/ { n = $0; sub(/=.*/, "", n); want[n] = $0 }
	END {
		for (n in want) {
			if (want[n] == n "=n" ? (n in set) : !(want[n] in has)) {
				print "  " want[n] " (is: " ((n in set) ? set[n] : "not set") ")"; bad = 1
			}
		}
		exit bad
	}' >&2
}

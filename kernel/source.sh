# SPDX-License-Identifier: GPL-2.0-only
# The source of every kernel that is built here: Debian's, with the overlay and the patches.
# Read by kernel/build and tools/deb-kernel, which set:
#
#   here      the directory of this file
#   line      the line of kernels, as 6.12; stock: not empty: nothing is added to it
#   cache     where trees lie
#   checkout  the name of the tree: none is used by two builds at a time
#   package, version, pristine  Debian's package of the source, its version, its place below $cache
#   series    the list of patches, and of the new files that each brings
#   staged    empty
#
# and the functions die and say.
# shellcheck shell=sh disable=SC2154

# Installs what is missing of the packages given, with sudo where that is needed.
need() {
	"$here/../tools/install-packages" --names "$@" >&2 ||
		die "not all packages could be installed: $*; is the archive reachable, and is bookworm-security among APT's sources, from which the kernel's source comes?"
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

# Where the folders of new files have their place in the tree.
overlay_tops='isolator:kernel/isolator include:include arch:arch
	Documentation:Documentation selftests:tools/testing/selftests/isolator
	samples:samples/isolator'

# overlay file -> its place in the tree, one pair a line
overlay() {
	[ -z "$stock" ] || return 0
	for top in $overlay_tops; do
		[ -d "$here/${top%%:*}" ] || continue
		(cd "$here/${top%%:*}" && find . -type f ! -name '*.swp' ! -name '*~') | sort |
			sed "s|^\./\(.*\)|$here/${top%%:*}/\1 ${top#*:}/\1|"
	done
}

# Those that change a file of Debian's, in order: what is indented are the new files of one.
patches() {
	[ -z "$stock" ] && [ -e "$series" ] || return 0
	sed 's/#.*//; s/[[:space:]]*$//; /^$/d; /^[[:space:]]/d' "$series" | while read -r p; do
		! grep -q '^diff --git ' "$here/patches/$line/$p" || echo "$p"
	done
}

# What is not as Debian has it: the files in $staged/tree, their names in $staged/list.
stage() {
	[ -z "$stock$staged" ] || return 0
	unpack
	staged=$(mktemp -d "$cache/staged.XXXXXX")
	trap 'rm -rf "$staged"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	{
		for p in $(patches); do
			sed -n -e 's|^+++ [^/]*/\([^[:space:]]*\).*|\1|p' \
				-e 's|^--- [^/]*/\([^[:space:]]*\).*|\1|p' "$here/patches/$line/$p"
		done
		overlay | cut -d ' ' -f 2
	} | grep -v '^dev/null$' | sort -u >"$staged/list"
	while read -r f; do
		mkdir -p "$staged/tree/$(dirname "$f")"
		[ ! -e "$pristine/$f" ] || cp -p "$pristine/$f" "$staged/tree/$f"
	done <"$staged/list"
	for p in $(patches); do
		patch -d "$staged/tree" -p1 --fuzz=0 --no-backup-if-mismatch -s -f \
			<"$here/patches/$line/$p" >&2 ||
			die "patch $p does not apply to $package $version"
	done
	overlay | while read -r file to; do
		mkdir -p "$staged/tree/$(dirname "$to")"
		cp "$file" "$staged/tree/$to"
	done
}

# What of that a kernel is made of, for its key: it is the same kernel however it is cut into
# patches, and no build reads documentation, self-tests or MAINTAINERS.
staged_content() {
	[ -z "$stock" ] || return 0
	(cd "$staged/tree" && find . -type f ! -path './Documentation/*' \
		! -path './tools/testing/*' ! -path ./MAINTAINERS | LC_ALL=C sort |
		while read -r f; do
			echo "== $f"
			cat "$f"
		done)
}

# The tree that is built from.  Only files whose content changed are written, so
# that make rebuilds only what they concern.
prepare_tree() {
	unpack
	if [ -n "$stock" ]; then
		tree=$pristine
		return
	fi
	stage
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
	sort -u "$staged/list" "$tree/.touched" | while read -r f; do
		want=$staged/tree/$f
		grep -qxF "$f" "$staged/list" || want=$pristine/$f
		if [ ! -e "$want" ]; then
			rm -f "$tree/$f"
		elif ! cmp -s "$want" "$tree/$f"; then
			rm -f "$tree/$f"
			mkdir -p "$tree/$(dirname "$f")"
			cp "$want" "$tree/$f"
		fi
	done
	cp "$staged/list" "$tree/.touched"
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

# SPDX-License-Identifier: GPL-2.0-or-later
# Packages of a kernel that is built; read by tools/deb-kernel.
#
# Not `make bindeb-pkg`: its image leaves what depmod makes behind when it is purged, calls the
# hooks for headers at no time, ships no copyright and no changelog, cannot depend on isolator-boot,
# and runs a build by dpkg-buildpackage of its own.  What of the kernel's own does the work is
# used: modules_install and scripts/package/install-extmod-build.
#
# pack DIR: the packages to DIR.  Wants tree, objects, release, name, version, top, key, cert,
# deb_arch, machine, cross, source_arch, image, grub, SOURCE_DATE_EPOCH, and make_kernel, foreign, die
# and say of tools/deb-kernel.
# shellcheck shell=sh disable=SC2154

MAINTAINER='Isolator developers <dev@isolator.example>'
HOMEPAGE='https://www.kernel.org/'

# All that a package holds has the date of the source, root's ownership and plain rights.
settle() {
	chmod -R u+rwX,go=rX "$1"
	find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# Text on standard input -> $1, compressed without a name or a date.
zipped() {
	gzip -9n >"$1"
}

# Fills in what differs from kernel to kernel.
template() {
	sed -e "s|@RELEASE@|$release|g" -e "s|@SIGNED@|$signed|g" "$top/packaging/kernel/$1"
}

# documents ROOT PACKAGE WHAT: copyright and changelog, without which no package is complete.
documents() {
	doc=$1/usr/share/doc/$2
	mkdir -p "$doc"
	cp "$top/packaging/kernel/copyright" "$doc/copyright"
	{
		echo "$2 ($deb_version) bookworm; urgency=medium"
		echo
		echo "  * $3, from"
		echo "    $package $version."
		echo
		echo " -- $MAINTAINER  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
	} | zipped "$doc/changelog.Debian.gz"
}

# finish ROOT PACKAGE ARCHITECTURE DIR, with the rest of the control file on standard input.
finish() {
	mkdir -p "$1/DEBIAN"
	{
		echo "Package: $2"
		echo "Source: linux-isolator"
		echo "Version: $deb_version"
		echo "Architecture: $3"
		echo "Maintainer: $MAINTAINER"
		echo "Installed-Size: $(find "$1" -path "$1/DEBIAN" -prune -o -type f -printf '%s\n' |
			awk '{ n += int(($1 + 1023) / 1024) } END { print n + 0 }')"
		cat
	} >"$1/DEBIAN/control"
	(cd "$1" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | LC_ALL=C sort |
		tr '\n' '\0' | xargs -0 md5sum) >"$1/DEBIAN/md5sums"
	settle "$1"
	for script in preinst postinst prerm postrm; do
		[ ! -e "$1/DEBIAN/$script" ] || chmod 755 "$1/DEBIAN/$script"
	done
	say "packing $2"
	# One thread: with more xz cuts its blocks as it finds CPUs.
	dpkg-deb --root-owner-group --threads-max=1 -Zxz -z1 --build "$1" "$4" >/dev/null ||
		die "dpkg-deb failed for $2"
}

# sign_modules ROOT: with the administrator's key, which the kernel knows from MokList.
sign_modules() {
	find "$1/lib/modules" -name '*.ko.xz' -o -name '*.ko' | while read -r module; do
		plain=${module%.xz}
		[ "$plain" = "$module" ] || xz -d "$module"
		"$objects/scripts/sign-file" sha256 "$key" "$cert" "$plain" ||
			die "cannot sign $plain"
		[ "$plain" = "$module" ] || xz --check=crc32 --lzma2=dict=1MiB "$plain"
	done
}

pack_image() {
	root=$work/image
	mkdir -p "$root/boot"
	# depmod runs where it is installed.
	make_kernel INSTALL_MOD_PATH="$root" INSTALL_MOD_STRIP=1 DEPMOD=true modules_install \
		>"$objects/install.log" 2>&1 ||
		die "modules_install failed; see $objects/install.log"
	rm -f "$root/lib/modules/$release/build" "$root/lib/modules/$release/source"
	if [ -n "$cross" ]; then
		# Boot loaders that have no tree of the board's own look for it there.
		make_kernel INSTALL_DTBS_PATH="$root/usr/lib/linux-image-$release" dtbs_install \
			>>"$objects/install.log" 2>&1 ||
			die "dtbs_install failed; see $objects/install.log"
	fi
	vmlinuz=$root/boot/vmlinuz-$release
	made=$objects/arch/$source_arch/boot/$image
	if [ -n "$key" ]; then
		sign_modules "$root"
		sbsign --key "$key" --cert "$cert" --output "$vmlinuz" \
			"$made" 2>&1 | grep -v '^Signing' >&2 || :
		sbverify --cert "$cert" "$vmlinuz" >/dev/null 2>&1 ||
			die "sbsign left no good signature in $vmlinuz"
	else
		cp "$made" "$vmlinuz"
	fi
	cp "$objects/System.map" "$root/boot/System.map-$release"
	cp "$objects/.config" "$root/boot/config-$release"
	documents "$root" "linux-image-$release" "Linux $release, with Isolator"
	zipped "$doc/config.changes.gz" <"$objects/config.changes"
	mkdir -p "$root/DEBIAN" "$root/usr/share/lintian/overrides"
	template image.lintian >"$root/usr/share/lintian/overrides/linux-image-$release"
	for script in preinst postinst prerm postrm; do
		[ ! -e "$top/packaging/kernel/image.$script" ] ||
			template "image.$script" >"$root/DEBIAN/$script"
	done
	finish "$root" "linux-image-$release" "$deb_arch" "$1" <<END
Depends: isolator-boot, kmod, linux-base (>= 4.3~), initramfs-tools | linux-initramfs-tool
Recommends: apparmor
Suggests: linux-headers-$release, $grub
Section: kernel
Priority: optional
Homepage: $HOMEPAGE
Description: Linux $line with Isolator ($name)
 Linux of Debian's package $package $version with Isolator: a
 task may ask, at run time and without any boot parameter, that nothing
 interrupts its CPU in user mode.
 .
 It is installed beside the kernels that are there and is not the default; see
 isolator-kernel-default(8).
END
}

# programs DIR: those that are the machine's, not a script.
programs() {
	find "$1" -type f -perm -u+x | while read -r f; do
		case $(head -c 4 "$f" | tr -d '\0') in *ELF) echo "$f" ;; esac
	done
}

# whole_of_one_machine DIR: objtool and others are not compiled once more, and would not run there.
whole_of_one_machine() {
	# The ELF header's e_machine.
	others=$(programs "$1" | while read -r f; do
		[ "$(od -An -t u2 -j 18 -N 2 "$f" | tr -d ' ')" = "$machine" ] || echo "${f#"$1"/}"
	done)
	[ -z "$others" ] || die "of the headers' programs these do not run on $deb_arch:" \
		"$(echo "$others" | paste -sd ' '); packaging/kernel/pack.sh should make or drop them"
}

# foreign_depends DIR: dpkg-shlibdeps knows nothing of an architecture that is not installed.
foreign_depends() {
	programs "$1" | xargs "${cross}objdump" -p >"$work/needs"
	unknown=$(sed -n 's/^ *NEEDED *//p' "$work/needs" | sort -u |
		grep -vxE 'libc\.so\.6|ld-linux-aarch64\.so\.1|libcrypto\.so\.3' || :)
	[ -z "$unknown" ] || die "which package has $unknown? packaging/kernel/pack.sh should know"
	grep -o 'GLIBC_[0-9.]*' "$work/needs" | sort -Vu |
		sed -n '$s/^GLIBC_\(.*\)/libc6 (>= \1)/p'
	! grep -q 'NEEDED *libcrypto' "$work/needs" || echo "libssl3 (>= 3.0.0)"
}

# scripts/ and tools/ that modules are built with run on the machine: what they need is found out.
headers_depends() {
	if [ -n "$cross" ]; then
		needed=$(foreign_depends "$1") || exit
		echo "$needed" | paste -sd , | sed 's/,/, /g'
		return
	fi
	mkdir -p "$work/shlibs/debian"
	printf 'Source: linux-isolator\n\nPackage: headers\nArchitecture: any\n' \
		>"$work/shlibs/debian/control"
	programs "$1" >"$work/shlibs/list"
	(cd "$work/shlibs" && sed 's/^/-e/' list | xargs dpkg-shlibdeps -O 2>/dev/null) |
		sed -n 's/^shlibs:Depends=//p'
}

# strip_programs DIR: also of debug information, which tells where they were built.
strip_programs() {
	programs "$1" | xargs -r "${cross-}strip" --strip-unneeded
}

pack_headers() {
	root=$work/headers
	to=$root/usr/src/linux-headers-$release
	mkdir -p "$root/lib/modules/$release"
	# What CC makes is not for this machine: then all that runs there is compiled once more, and
	# sign-file with the other architecture's libcrypto.
	more=''
	if [ -n "$cross" ]; then
		foreign bookworm libssl libssl-dev libssl3
		more="-I$beside/usr/include -I$beside/usr/include/${cross%-}"
	fi
	(cd "$objects" && srctree=$tree SRCARCH=$source_arch CC=${cross}gcc HOSTCC=gcc MAKE=make \
		ARCH=$arch CROSS_COMPILE=$cross HOSTCFLAGS=$more \
		HOSTLDFLAGS="-Wl,--build-id=none ${cross:+-L$beside/usr/lib/${cross%-}}" \
		sh "$tree/scripts/package/install-extmod-build" "$to") >>"$objects/install.log" 2>&1 ||
		die "the headers failed; see $objects/install.log"
	cp "$objects/.config" "$to/.config"
	if [ -n "$cross" ]; then
		# Made again, bison's header has this directory's name in it; that of the build has not.
		for made in "$objects"/scripts/genksyms/*.tab.[ch]; do
			[ ! -e "$made" ] || cp "$made" "$to/scripts/genksyms/"
		done
		# Without a vmlinux beside it nothing calls it.
		rm -rf "$to/tools/bpf/resolve_btfids"
	fi
	whole_of_one_machine "$to"
	find "$to" -name .gitignore -delete
	find "$to" -depth -type d -empty -delete
	ln -s "/usr/src/linux-headers-$release" "$root/lib/modules/$release/build"
	strip_programs "$to"
	documents "$root" "linux-headers-$release" "Linux $release, with Isolator"
	mkdir -p "$root/DEBIAN" "$root/usr/share/lintian/overrides"
	template headers.lintian >"$root/usr/share/lintian/overrides/linux-headers-$release"
	template headers.postinst >"$root/DEBIAN/postinst"
	# Kbuild calls it gcc, which gcc-12 alone does not bring.
	compiler=$("${cross}gcc" -dumpversion)
	depends=$(headers_depends "$to")
	[ -n "$depends" ] || die "what the programs in $to need was not found"
	finish "$root" "linux-headers-$release" "$deb_arch" "$1" <<END
Depends: $depends, gcc (>= 4:$compiler), make
Section: kernel
Priority: optional
Homepage: $HOMEPAGE
Description: headers of Linux $line with Isolator ($name)
 What modules for linux-image-$release are
 built with, by DKMS or by hand: headers, Makefiles, and the programs that
 these run.
END
}

pack_boot() {
	root=$work/boot
	mkdir -p "$root/etc/default/grub.d" "$root/usr/sbin" "$root/usr/share/man/man8" "$root/DEBIAN"
	cp "$top/packaging/kernel/grub.cfg" "$root/etc/default/grub.d/isolator-kernel.cfg"
	echo /etc/default/grub.d/isolator-kernel.cfg >"$root/DEBIAN/conffiles"
	cp "$top/packaging/kernel/isolator-kernel-default" "$root/usr/sbin/"
	zipped "$root/usr/share/man/man8/isolator-kernel-default.8.gz" \
		<"$top/packaging/kernel/isolator-kernel-default.8"
	cp "$top/packaging/kernel/boot.postrm" "$root/DEBIAN/postrm"
	documents "$root" isolator-boot "For Linux with Isolator"
	chmod 755 "$root/usr/sbin/isolator-kernel-default"
	finish "$root" isolator-boot all "$1" <<END
Section: admin
Priority: optional
Homepage: $HOMEPAGE
Description: which kernel boots, where one with Isolator is installed
 GRUB begins with the highest version, which may be the one with Isolator.  This
 keeps the newest other kernel the default until isolator-kernel-default is told
 otherwise, for one boot or for all.
END
}

pack() {
	signed=no
	[ -z "$key" ] || signed=yes
	deb_version=$version+isolator$(sed -n "s/^  version: '\(.*\)',$/\1/p" "$top/meson.build" | head -n 1)
	work=$objects/packages
	rm -rf "$work"
	mkdir -p "$work"
	umask 022
	pack_image "$1"
	pack_headers "$1"
	pack_boot "$1"
	rm -rf "$work"
}

# secure_boot_note KEY: what is to be done where Secure Boot is on.
secure_boot_note() {
	variable=/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
	[ -e "$variable" ] && [ "$(od -An -t u1 -j 4 -N 1 "$variable" | tr -d ' ')" = 1 ] || return 0
	[ -z "$1" ] || {
		echo "deb-kernel: Secure Boot is on here: enrol the certificate once: mokutil --import"
		return 0
	}
	echo "deb-kernel: Secure Boot is on here, and this kernel is not signed: GRUB will refuse it."
	echo "deb-kernel: sign it: tools/deb-kernel --sign KEY CERT; see docs/kernel-package.md"
}

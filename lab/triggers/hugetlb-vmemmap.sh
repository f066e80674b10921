#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# name: hugetlb-vmemmap
# row: 13
# class: queue
# kind: script
# arch: x86_64
# needs: HUGETLB_PAGE_OPTIMIZE_VMEMMAP
# notick: no
# about: huge pages whose page descriptors are given back: the kernel's map of these changes
# shellcheck source=lab/guest/trigger.sh
. "${LAB:-/lab}/lib/trigger.sh"

knob=/proc/sys/vm/hugetlb_optimize_vmemmap
file=/proc/sys/vm/nr_hugepages
[ -e "$knob" ] || missing hugetlb_optimize_vmemmap
# memmap: pages that hold page descriptors
memmap() {
	echo $(($(vmstat nr_memmap_pages) + $(vmstat nr_memmap_boot_pages)))
}

optimize=$(cat "$knob")
old=$(cat "$file")
before=$(memmap)
n=0
least=$before
put 1 "$knob"
for _ in 1 2 3; do
	put $((old + 8)) "$file"
	now=$(memmap)
	[ "$now" -lt "$before" ] && n=$((n + 1))
	[ "$now" -lt "$least" ] && least=$now
	put "$old" "$file"
	[ "$(memmap)" = "$before" ] && n=$((n + 1))
done
put "$optimize" "$knob"
[ $n = 6 ] && answer true "3 times $((before - least)) pages of descriptors given back and made again"
answer false "$n of 6 steps seen, descriptor pages from $before to $least"

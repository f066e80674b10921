#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every call has a page of its own with an example, and the page about the best CPU has
# the points that the source has.   manual.sh SOURCE-DIRECTORY
set -eu

cd "$1"
status=0
calls=$(awk '/^\tisolator_/ { sub(";", "", $1); print $1 }' src/isolator.map)
for call in $calls; do
	# A variable that inline functions use.
	[ "$call" != isolator_thread_page ] || continue
	if ! grep -qs "^\.TH $(echo "$call" | tr '[:lower:]' '[:upper:]') 3 " "man/$call.3"; then
		echo "no page: man/$call.3"
		status=1
	fi
done
for call in alloc free pool_create pool_destroy pool_stat pool_use topology_best topology_cache \
	topology_cpu topology_free topology_list topology_read topology_shared; do
	grep -q '^\.SH EXAMPLES' "man/isolator_$call.3" || { echo "no example: $call"; status=1; }
done
source=$(sed -n 's/^\t{ \(ISOLATOR_WHY_[A-Z0-9_]*\), \(-\?[0-9]*\),$/\1 \2/p' src/topology_best.c |
	awk '$1 == "ISOLATOR_WHY_IRQS" { $2 = -1 } $2 { print }' | sort)
page=$(sed -n 's/^\(ISOLATOR_WHY_[A-Z0-9_]*\)\t\\\?[+]\?\(-\?[0-9]*\)\t.*/\1 \2/p' \
	man/isolator_topology_best.3 | sort)
if [ -z "$source" ] || [ "$source" != "$page" ]; then
	printf 'source:\n%s\npage:\n%s\n' "$source" "$page"
	status=1
fi
exit $status

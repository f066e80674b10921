// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-split-late
 * cpus: 2
 * kernel: isolator-faults
 * arch: x86_64
 * append: pti=on
 * timeout: 60
 * about: planted fault: a split large page of the kernel is flushed late in a quiet section
 */
#include "caller.h"
#include "fault.h"

static unsigned long long splits(void)
{
	return counted_in("/proc/vmstat", "direct_map_level2_splits ", " ");
}

/* With page-table isolation, user mode could do without this flush. */
static bool is_waited_for(void)
{
	unsigned long long split, queued, deferred;

	caller_start(CALLER);
	split = splits();	/* the module's own text has split some */
	deferred = counted("cpu 1 callback do_flush_tlb_deferrable", " deferred ");
	queued = counted("cpu 1 callback do_flush_tlb_all", " queued ");
	/* What the last one has split is split already. */
	for (int i = 0; i < 16 && splits() == split; i++) {
		if (put_file("/dev/" CALLER, "split"))
			bail_out("no page is split");
	}
	ok(splits() > split, "a large page was split");
	queued = counted("cpu 1 callback do_flush_tlb_all", " queued ") - queued;
	deferred = counted("cpu 1 callback do_flush_tlb_deferrable", " deferred ") - deferred;
	diag("%llu flushes queued, %llu deferred", queued, deferred);
	ok(module_unload(CALLER), "it goes");
	return queued && !deferred;
}

int main(void)
{
	iso_require(2);
	return with_fault("split_late", is_waited_for);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-hold-excluded
 * cpus: 2
 * kernel: isolator-debug
 * timeout: 90
 * about: planted fault: what means nothing to user mode is held instead of left out
 */
#define _GNU_SOURCE
#include <unistd.h>
#include "fault.h"

#define TRACING	"/sys/kernel/tracing/"

/* A probe's barriers come back at once, though the task never ticks. */
static bool check(void)
{
	struct worker *w = worker_new(1);
	uint64_t excluded;
	bool clean;

	w->deadline_ns = 60 * SEC;
	w->spin_ns = 100 * MS;
	if (!worker_thread(w))
		bail_out("no isolated worker");
	excluded = w->iso.page->excluded;
	put_file(TRACING "kprobe_events", "p:lab/excluded do_sys_openat2");
	put_file(TRACING "events/lab/excluded/enable", "1");
	put_file(TRACING "events/lab/excluded/enable", "0");
	put_file(TRACING "kprobe_events", "-:lab/excluded");
	excluded = w->iso.page->excluded - excluded;
	clean = !w->iso.page->breaches;
	diag("%lu excluded, %llu breaches", excluded,
	     (unsigned long long)w->iso.page->breaches);
	worker_end(w);
	return excluded > 0 && clean;
}

int main(void)
{
	iso_require(2);
	if (access(TRACING "kprobe_events", W_OK))
		skip_all("no kprobe events");
	return with_fault("hold_excluded", check);
}

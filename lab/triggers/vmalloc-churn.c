// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: vmalloc-churn
 * row: 10
 * class: defer
 * kind: program
 * notick: yes
 * in: run
 * about: large kernel mappings are made and freed until their addresses are purged
 */
#include "bpf.h"
#include "trigger.h"

enum { MAPS = 48, BYTES = 4 << 20 };

/* Bytes of vmalloc space that are freed but not yet flushed from the TLBs. */
static long long unpurged(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "r");
	unsigned long long sum = 0, size;
	char line[512];

	need(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "unpurged") &&
		    sscanf(line, "%*s %llu", &size) == 1)
			sum += size;
	fclose(f);
	return (long long)sum;
}

int main(void)
{
	long long last = unpurged(), freed = 0;
	int purges = 0, wait = 0;

	/* Lazily freed space is purged above 32 MiB x log2(CPUs). */
	for (int i = 0; i < MAPS && !purges; i++) {
		int fd = bpf_array_create(BYTES);
		long long now;

		need(fd >= 0);
		close(fd);
		freed += BYTES;
		now = unpurged();
		purges += now < last;
		last = now;
	}
	/* The maps are freed by a worker after a grace period: let it end. */
	for (; !purges && wait < 200; wait++) {
		long long now;

		usleep(10000);
		now = unpurged();
		purges += now < last;
		last = now;
	}
	answer(purges > 0, "done", "%lld MiB freed, %d purge seen, %lld KiB left",
	       freed >> 20, purges, last >> 10);
}

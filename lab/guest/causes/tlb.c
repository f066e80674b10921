// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A TLB shootdown: so much kernel memory was freed that its addresses are flushed on every
 * CPU by an inter-processor interrupt.  A module's image that is none is copied there, found
 * out and freed.  Page by page, as the limit from which on a CPU drops all at once is
 * raised meanwhile: so the one interrupt takes its time.
 */
#include "cause.h"

#define CEILING	"/sys/kernel/debug/x86/tlb_single_page_flush_ceiling"
/* What else was freed lies between: the flush is one range. */
#define MANY	"1000000000"
enum { PATIENCE_NS = 1000000000 };

static long ceiling = -1;
static void *image;
static size_t bytes;

/* KiB of kernel addresses that are freed but not yet flushed. */
static long unpurged(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "re");
	unsigned long long sum = 0, size;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		const char *word = line;

		for (; *word; word++)
			if (word[0] == 'u' && word[1] == 'n' && word[2] == 'p' &&
			    sscanf(line, "%*s %llu", &size) == 1) {
				sum += size;
				break;
			}
	}
	if (f)
		fclose(f);
	return (long)(sum >> 10);
}

static int prepare(const struct aim *aim, long size)
{
	bytes = (size_t)size << 20;
	image = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image == MAP_FAILED)
		return -errno;
	ceiling = file_number(CEILING);
	return ceiling < 0 ? -ENOENT : file_put(CEILING, MANY);
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	long before = interrupts("CAL:", aim->cpu), came, left;

	truth->from_ns = now_ns();
	if (!syscall(SYS_init_module, image, bytes, "") || errno != ENOEXEC)
		return -errno;
	/* Work of this CPU flushes it. */
	do {
		sleep_until(now_ns() + 1000000);
		left = unpurged();
	} while (left >= size << 10 && now_ns() < truth->from_ns + PATIENCE_NS);
	truth->to_ns = now_ns();
	came = interrupts("CAL:", aim->cpu) - before;
	truth->happened = left < size << 10 && came > 0;
	snprintf(truth->evidence, sizeof(truth->evidence),
		 "\"calls\":%ld,\"unflushed_kib\":%ld", came, left);
	return 0;
}

static void restore(const struct aim *aim)
{
	char text[24];

	if (image && image != MAP_FAILED)
		munmap(image, bytes);
	image = NULL;
	if (ceiling < 0)
		return;
	snprintf(text, sizeof(text), "%ld", ceiling);
	file_put(CEILING, text);
	ceiling = -1;
}

CAUSE(tlb, "tlb", "MiB", prepare, inject, restore);

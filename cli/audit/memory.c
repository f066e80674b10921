// SPDX-License-Identifier: GPL-2.0-or-later
/* Who changes page tables and counts pages behind a task's back. */
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/text.h"

#define THP "/sys/kernel/mm/transparent_hugepage"
#define STAT_SECONDS_MIN 10

/* A choice that shall not be "always". */
static void find_always(struct audit *audit, const char *path)
{
	const struct capture_file *file = audit_file(audit, "%s", path);

	if (file && setting_holds(SETTING_CHOICE, file->value, "always"))
		audit_set(audit_find(audit, file->path, file->value), SETTING_CHOICE, "madvise");
}

static void find_merging(struct audit *audit)
{
	int64_t run;
	const struct capture_file *file = audit_number(audit, &run, "/sys/kernel/mm/ksm/run");

	/* 2 takes the merged pages apart, and then rests. */
	if (file && run == 1)
		audit_set(audit_find(audit, file->path, file->value), SETTING_TEXT, "0");
}

static void find_huge_pages(struct audit *audit)
{
	find_always(audit, THP "/enabled");
}

static void find_huge_page_stalls(struct audit *audit)
{
	find_always(audit, THP "/defrag");
}

static void find_numa_balancing(struct audit *audit)
{
	audit_zero(audit, "/proc/sys/kernel/numa_balancing");
}

static void find_compaction(struct audit *audit)
{
	audit_zero(audit, "/proc/sys/vm/compaction_proactiveness");
}

static void find_swap(struct audit *audit)
{
	const struct capture_file *file = audit_file(audit, "/proc/swaps");
	const char *first = file ? strchr(file->value, '\n') : NULL;
	char *line;

	/* Below the heads of the columns. */
	if (!first)
		return;
	line = text_format("%.*s", (int)strcspn(first + 1, " \t\n"), first + 1);
	audit_advise(audit_find(audit, file->path, line), REMEDY_COMMAND, "swapoff -a",
		     "swapon -a");
	free(line);
}

static void find_statistics(struct audit *audit)
{
	struct cpulist spared;
	int64_t seconds;
	const struct capture_file *file = audit_number(audit, &seconds,
						       "/proc/sys/vm/stat_interval");

	if (!file || seconds >= STAT_SECONDS_MIN)
		return;
	/* CPUs isolated at boot are left out, whatever the interval. */
	if ((audit_list(audit, &spared, "/sys/devices/system/cpu/isolated") &&
	     cpulist_within(&audit->cpus, &spared)) ||
	    (audit_list(audit, &spared, "/sys/devices/system/cpu/nohz_full") &&
	     cpulist_within(&audit->cpus, &spared)))
		return;
	audit_set(audit_find(audit, file->path, file->value), SETTING_TEXT, "%d",
		  STAT_SECONDS_MIN);
}

static void find_sampling(struct audit *audit)
{
	int64_t ms;
	const struct capture_file *file;
	struct audit_finding *finding;

	file = audit_number(audit, &ms, "/sys/module/kfence/parameters/sample_interval");
	if (!file || !ms)
		return;
	finding = audit_find(audit, file->path, file->value);
	audit_set(finding, SETTING_TEXT, "0");
	/* Without static keys a sample costs no other CPU anything. */
	if (!audit_config(audit, "KFENCE_STATIC_KEYS"))
		finding->severity = AUDIT_INFO;
}

static const struct audit_check checks[] = {
	{ "memory.merging", AUDIT_WARNING, true,
	  "KSM write-protects and merges equal pages, and flushes the TLBs of the programs that use them",
	  find_merging },
	{ "memory.huge-pages", AUDIT_WARNING, true,
	  "khugepaged replaces pages of any task by a huge one, and flushes its TLBs",
	  find_huge_pages },
	{ "memory.huge-page-stalls", AUDIT_WARNING, false,
	  "the first access to memory may wait while the kernel compacts memory for a huge page",
	  find_huge_page_stalls },
	{ "memory.numa-balancing", AUDIT_WARNING, true,
	  "the kernel unmaps pages to see who uses them: each costs a page fault and a TLB flush",
	  find_numa_balancing },
	{ "memory.compaction", AUDIT_WARNING, true,
	  "the kernel compacts memory in the background, with TLB flushes", find_compaction },
	{ "memory.swap", AUDIT_WARNING, true,
	  "the kernel may swap out memory that is not locked; the next access waits for the disk",
	  find_swap },
	{ "memory.statistics", AUDIT_WARNING, true,
	  "a kworker on each CPU updates statistics at this interval, in seconds", find_statistics },
	{ "memory.kfence", AUDIT_WARNING, true,
	  "KFENCE patches the kernel's code at this interval, in ms, which interrupts all CPUs",
	  find_sampling },
	{ 0 },
};

const struct audit_group audit_memory = { "Memory", checks };

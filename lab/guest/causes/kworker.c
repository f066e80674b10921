// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Work that is bound to the measured CPU: its part of a trace buffer shrinks, and a kworker
 * there frees the pages one by one.
 */
#include <dirent.h>
#include <sys/stat.h>
#include "cause.h"

#define INSTANCE "/sys/kernel/tracing/instances/inject"
enum { SMALL_KIB = 16 };

static int resize(const struct aim *aim, long kib)
{
	char path[128], text[24];

	snprintf(path, sizeof(path), INSTANCE "/per_cpu/cpu%d/buffer_size_kb", aim->cpu);
	snprintf(text, sizeof(text), "%ld", kib);
	return file_put(path, text);
}

/* Time that the kworkers of @cpu ran, in ns. */
static long worked(int cpu)
{
	char name[24], path[300], comm[64];
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	long sum = 0;

	snprintf(name, sizeof(name), "kworker/%d:", cpu);
	while (proc && (entry = readdir(proc))) {
		FILE *f;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f) && !strncmp(comm, name, strlen(name))) {
			snprintf(path, sizeof(path), "/proc/%s/schedstat", entry->d_name);
			sum += file_number(path);
		}
		fclose(f);
	}
	if (proc)
		closedir(proc);
	return sum;
}

static int prepare(const struct aim *aim, long size)
{
	if (mkdir(INSTANCE, 0755) && errno != EEXIST)
		return -errno;
	return resize(aim, size);
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	long before = worked(aim->cpu), ns;
	int error;

	truth->from_ns = now_ns();
	error = resize(aim, SMALL_KIB);
	truth->to_ns = now_ns();
	ns = worked(aim->cpu) - before;
	truth->happened = ns > 0;
	snprintf(truth->evidence, sizeof(truth->evidence), "\"kworker_ns\":%ld", ns);
	return error;
}

static void restore(const struct aim *aim)
{
	rmdir(INSTANCE);
}

CAUSE(kworker, "kworker", "KiB", prepare, inject, restore);

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attribute/parts.h"
#include "attribute/probe.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/wait.h"

/*
 * An event takes some 40 bytes: this holds 50 000 of them, or a second of a CPU with as
 * many.  It cannot grow while it is used: that would interrupt the CPU.
 */
#define RING_LEAST (2u << 20)
#define RING_MOST (32u << 20)
/* An outlier comes when more is going on than while it began. */
#define RING_MARGIN 8
#define EVENT_BYTES 40
#define RATE_NS (WAIT_SECOND / 20)
/* Of a ring of senders. */
#define SENDER_BYTES (256u << 10)

static struct attribute *fail(struct attribute *attribute, char **why)
{
	*why = attribute->fs.why ? attribute->fs.why : text_format("unknown");
	attribute->fs.why = NULL;
	attribute_close(attribute);
	return NULL;
}

static struct attribute *begin(const struct attribute_options *options)
{
	struct attribute *attribute = calloc(1, sizeof(*attribute));

	if (!attribute)
		error_no_memory();
	attribute->options = *options;
	attribute->cpus = *options->cpus;
	tracefs_init(&attribute->fs);
	attribute->names.tracefs = -1;
	ranking_open(&attribute->ranking, options->most);
	survey_open(&attribute->timeline.survey);
	return attribute;
}

static void list_others(struct attribute *attribute)
{
	char text[4096];
	struct cpulist online = { 0 };

	if (!file_word(text, sizeof(text), "/sys/devices/system/cpu/online") ||
	    !cpulist_read(text, &online))
		return;
	attribute->others = online;
	cpulist_minus(&attribute->others, &attribute->cpus);
}

/* Opens a ring for each CPU of @cpus.  0, or -1 with fs.why. */
static int add_rings(struct attribute *attribute, const struct cpulist *cpus, bool senders,
		     size_t bytes, uint64_t begun_ns)
{
	const struct trace_layout *layout = &attribute->readers.layout;
	struct timeline *timeline = &attribute->timeline;

	for (int cpu = -1; (cpu = cpulist_next(cpus, cpu)) >= 0;) {
		int file = tracefs_ring(&attribute->fs, senders, cpu);
		size_t pages = bytes / (layout->data_offset + layout->data_size) + 8;
		off_t whole = 0;

		if (file < 0) {
			free(attribute->fs.why);
			attribute->fs.why = text_format("the trace of CPU %d cannot be read: %s",
							cpu, strerror(errno));
			return -1;
		}
		if (attribute->recorded)
			whole = lseek(file, 0, SEEK_END);
		if (whole > 0) {
			pages = (size_t)whole / (layout->data_offset + layout->data_size) + 1;
			lseek(file, 0, SEEK_SET);
		}
		trace_store_open(&timeline->stores[timeline->count++], cpu, file, !senders, layout,
				 pages, begun_ns);
	}
	return 0;
}

/* @root: where the files are; of a recording its end too. */
static int open_rings(struct attribute *attribute, const char *root, uint64_t begun_ns)
{
	struct timeline *timeline = &attribute->timeline;
	size_t measured = cpulist_count(&attribute->cpus);
	int *cpus = calloc(measured + 1, sizeof(*cpus));
	int cpu = -1;

	timeline->stores = calloc(measured + cpulist_count(&attribute->others) + 1,
				  sizeof(*timeline->stores));
	if (!timeline->stores || !cpus)
		error_no_memory();
	timeline->readers = &attribute->readers;
	timeline->names = &attribute->names;
	timeline->below = &attribute->below;
	for (size_t i = 0; i < measured; i++)
		cpus[i] = cpu = cpulist_next(&attribute->cpus, cpu);
	below_open(&attribute->below, root, cpus, measured);
	free(cpus);
	if (add_rings(attribute, &attribute->cpus, false, attribute->ring_bytes, begun_ns))
		return -1;
	return attribute->fs.senders < 0 ? 0 :
		add_rings(attribute, &attribute->others, true, SENDER_BYTES, begun_ns);
}

/* How much the ring has to hold, from what goes on now. */
static size_t ring_bytes(const struct attribute *attribute, uint64_t entries, uint64_t ns)
{
	double seconds = (attribute->options.hold_ms ? attribute->options.hold_ms : 1000) / 1e3;
	double bytes = RING_MARGIN * EVENT_BYTES * seconds * (double)entries * 1e9 / (double)ns;

	if (bytes < RING_LEAST)
		return RING_LEAST;
	return bytes > RING_MOST ? RING_MOST : (size_t)bytes;
}

/* Of the busiest measured CPU, for a short time in a ring of the least size. */
static uint64_t busiest(const struct attribute *attribute)
{
	uint64_t most = 0;

	for (int cpu = -1; (cpu = cpulist_next(&attribute->cpus, cpu)) >= 0;) {
		uint64_t entries = tracefs_entries(&attribute->fs, cpu);

		if (entries > most)
			most = entries;
	}
	return most;
}

/* Arms once to see the rate, and again with rings of the size for it. */
static int arm(struct attribute *attribute)
{
	struct tracefs_wanted wanted = {
		.measured = &attribute->cpus, .others = &attribute->others,
		.bytes = RING_LEAST,
	};
	struct timespec nap = { 0, (long)RATE_NS };
	uint64_t from_ns;

	if (tracefs_open(&attribute->fs, &wanted) ||
	    tracefs_formats(&attribute->fs, &attribute->readers) ||
	    tracefs_arm(&attribute->fs, &wanted, &attribute->readers))
		return -1;
	from_ns = wait_clock_ns();
	nanosleep(&nap, NULL);
	attribute->ring_bytes = ring_bytes(attribute, busiest(attribute),
					   wait_clock_ns() - from_ns);
	wanted.bytes = attribute->ring_bytes;
	return wanted.bytes > RING_LEAST ? tracefs_resize(&attribute->fs, &wanted) : 0;
}

struct attribute *attribute_open(const struct attribute_options *options, char **why)
{
	struct attribute *attribute = begin(options);
	uint64_t begun_ns;
	char *kallsyms;
	size_t size;

	*why = NULL;
	list_others(attribute);
	if (arm(attribute))
		return fail(attribute, why);
	kallsyms = file_read("/proc/kallsyms", &size);
	names_open(&attribute->names, kallsyms, tracefs_read(attribute->fs.root, "printk_formats"),
		   attribute->fs.root);
	begun_ns = wait_clock_ns();
	if (open_rings(attribute, "", begun_ns) || probe(attribute))
		return fail(attribute, why);
	return attribute;
}

struct attribute *attribute_open_copy(const struct attribute_options *options,
				      const char *directory, char **why)
{
	struct attribute *attribute = begin(options);
	struct tracefs *fs = &attribute->fs;
	char *end;

	*why = NULL;
	attribute->recorded = true;
	if (tracefs_open_copy(fs, directory) || tracefs_formats(fs, &attribute->readers))
		return fail(attribute, why);
	names_open(&attribute->names, tracefs_read(fs->root, "kallsyms"),
		   tracefs_read(fs->root, "printk_formats"), fs->root);
	for (int cpu = 0; fs->senders >= 0 && cpu < CPULIST_MAX; cpu++) {
		int file = tracefs_ring(fs, true, cpu);

		if (file >= 0)
			cpulist_add(&attribute->others, cpu);
		if (file >= 0)
			close(file);
	}
	if (open_rings(attribute, directory, 0))
		return fail(attribute, why);
	end = text_format("%s/end", directory);
	below_end_copy(&attribute->below, end);
	free(end);
	return attribute;
}

static void read_rings(struct attribute *attribute)
{
	struct timeline *timeline = &attribute->timeline;

	below_read(&attribute->below);
	for (size_t i = 0; i < timeline->count; i++) {
		/* What is there at this time is read; what comes meanwhile may be. */
		uint64_t now_ns = attribute->recorded ? UINT64_MAX : wait_clock_ns();

		trace_store_read(&timeline->stores[i], &attribute->readers, &attribute->names,
				 now_ns);
	}
}

/* The time of day at @ns of CLOCK_MONOTONIC. */
static uint64_t time_of_day(uint64_t ns)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * WAIT_SECOND + (uint64_t)now.tv_nsec + ns - wait_clock_ns();
}

void attribute_look(struct attribute *attribute, const struct outlier *outlier,
		    struct finding *finding)
{
	struct timeline *timeline = &attribute->timeline;

	memset(finding, 0, sizeof(*finding));
	finding->outlier = *outlier;
	finding->at_ns = attribute->recorded ? outlier->from_ns : time_of_day(outlier->from_ns);
	for (size_t i = 0; i < timeline->count; i++) {
		if (timeline->stores[i].read_ns >= outlier->to_ns)
			continue;
		read_rings(attribute);
		break;
	}
	attribute->seen++;
	attribute->looked++;
	attribute->lost += timeline_share(timeline, finding);
	ranking_add(&attribute->ranking, finding);
}

void attribute_pass(struct attribute *attribute, uint64_t count)
{
	attribute->seen += count;
}

int attribute_place(struct attribute *attribute, int cpu, uint64_t trigger)
{
	const struct ranking *ranking = &attribute->ranking;

	for (size_t i = 0; i < ranking->nr_findings; i++)
		if (ranking->findings[i]->outlier.cpu == cpu &&
		    ranking->findings[i]->outlier.trigger == trigger)
			return (int)i;
	return -1;
}

void attribute_end(struct attribute *attribute)
{
	if (!attribute)
		return;
	for (size_t i = 0; i < attribute->timeline.count; i++)
		trace_store_close(&attribute->timeline.stores[i]);
	attribute->timeline.count = 0;
	attribute->names.tracefs = -1;
	tracefs_end(&attribute->fs);
}

void attribute_close(struct attribute *attribute)
{
	if (!attribute)
		return;
	attribute_end(attribute);
	free(attribute->timeline.stores);
	survey_close(&attribute->timeline.survey);
	below_close(&attribute->below);
	names_close(&attribute->names);
	trace_readers_free(&attribute->readers);
	ranking_close(&attribute->ranking);
	tracefs_close(&attribute->fs);
	free(attribute);
}

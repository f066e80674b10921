// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attribute/below.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

static void read_states(struct below *below, struct below_cpu *cpu)
{
	for (; cpu->nr_states < BELOW_STATES; cpu->nr_states++) {
		struct below_idle *state = &cpu->states[cpu->nr_states];
		char us[24];

		if (!file_word(state->name, sizeof(state->name),
			       "%s/sys/devices/system/cpu/cpu%d/cpuidle/state%d/name",
			       below->root, cpu->cpu, cpu->nr_states))
			break;
		if (file_word(us, sizeof(us),
			      "%s/sys/devices/system/cpu/cpu%d/cpuidle/state%d/latency",
			      below->root, cpu->cpu, cpu->nr_states))
			state->exit_ns = strtoull(us, NULL, 10) * 1000;
	}
}

/* The eighth number of the CPU's line. */
static bool steal_of(const char *stat, int cpu, uint64_t *ticks)
{
	char *head = text_format("\ncpu%d ", cpu);
	const char *line = strstr(stat, head);
	bool found = line && sscanf(line + strlen(head),
				    "%*u %*u %*u %*u %*u %*u %*u %" SCNu64, ticks) == 1;

	free(head);
	return found;
}

/* The processor's own count of how often it was too hot; Intel's are there. */
static bool heat_of(const struct below *below, int cpu, uint64_t *times)
{
	char text[24];

	if (!file_word(text, sizeof(text),
		       "%s/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count",
		       below->root, cpu))
		return false;
	*times = strtoull(text, NULL, 10);
	return true;
}

static void count_heat(struct below *below, bool first)
{
	for (size_t i = 0; i < below->count; i++) {
		struct below_cpu *cpu = &below->cpus[i];
		uint64_t times;

		if (!first && !cpu->counts_heat)
			continue;
		cpu->counts_heat = heat_of(below, cpu->cpu, &times);
		if (!cpu->counts_heat)
			continue;
		if (!first && times > cpu->heat)
			cpu->unclaimed_heat += times - cpu->heat;
		cpu->heat = times;
	}
}

static void count_steal(struct below *below, bool first)
{
	char *path = text_format("%s/proc/stat", below->root);
	size_t size;
	char *stat = file_read(path, &size);

	free(path);
	for (size_t i = 0; stat && i < below->count; i++) {
		struct below_cpu *cpu = &below->cpus[i];
		uint64_t ticks;

		if (!steal_of(stat, cpu->cpu, &ticks))
			continue;
		if (!first && ticks > cpu->steal)
			cpu->unclaimed_ns += (int64_t)((ticks - cpu->steal) * below->tick_ns);
		cpu->steal = ticks;
	}
	free(stat);
}

void below_open(struct below *below, const char *root, const int *cpus, size_t count_)
{
	long hz = sysconf(_SC_CLK_TCK);

	*below = (struct below){
		.root = text_format("%s", root), .count = count_,
		.tick_ns = UINT64_C(1000000000) / (uint64_t)(hz > 0 ? hz : 100),
		.cpus = calloc(count_ + 1, sizeof(*below->cpus)),
	};
	if (!below->cpus)
		error_no_memory();
	for (size_t i = 0; i < count_; i++) {
		below->cpus[i].cpu = cpus[i];
		read_states(below, &below->cpus[i]);
	}
	count_steal(below, true);
	count_heat(below, true);
}

void below_end_copy(struct below *below, const char *root)
{
	free(below->root);
	below->root = text_format("%s", root);
}

void below_close(struct below *below)
{
	free(below->cpus);
	free(below->root);
	memset(below, 0, sizeof(*below));
}

void below_read(struct below *below)
{
	count_steal(below, false);
	count_heat(below, false);
}

static struct below_cpu *find(const struct below *below, int cpu)
{
	for (size_t i = 0; i < below->count; i++)
		if (below->cpus[i].cpu == cpu)
			return &below->cpus[i];
	return NULL;
}

bool below_stolen(struct below *below, int cpu, uint64_t ns)
{
	struct below_cpu *of = find(below, cpu);

	if (!of || of->unclaimed_ns <= 0 ||
	    ns > (uint64_t)of->unclaimed_ns + below->tick_ns)
		return false;
	of->unclaimed_ns -= (int64_t)ns;
	return true;
}

bool below_heated(struct below *below, int cpu)
{
	struct below_cpu *of = find(below, cpu);

	if (!of || !of->unclaimed_heat)
		return false;
	of->unclaimed_heat--;
	return true;
}

const struct below_idle *below_idle(const struct below *below, int cpu, int state)
{
	const struct below_cpu *of = find(below, cpu);

	return of && state >= 0 && state < of->nr_states ? &of->states[state] : NULL;
}

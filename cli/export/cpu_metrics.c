// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include <linux/isolator.h>

#include "base/array.h"
#include "base/cpulist.h"
#include "export/cpu_metrics.h"
#include "export/crowd_metrics.h"

/* Which number, and whether the kernel says it of this CPU. */
typedef bool (*cpu_value)(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value);

static bool user(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value)
{
	(void)taken_ns;
	*value = (uint64_t)cpu->user;
	return cpu->isolated && cpu->user != PROC_UNSAID;
}

static bool deadline(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value)
{
	(void)taken_ns;
	*value = cpu->deadline_ns;	/* PROC_NEVER is +Inf */
	return cpu->isolated;
}

static bool spin(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value)
{
	(void)taken_ns;
	*value = cpu->spin_ns;
	return cpu->isolated;
}

static bool isolated_for(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value)
{
	*value = taken_ns - cpu->started_ns;
	return cpu->isolated && cpu->started_ns && cpu->started_ns < taken_ns;
}

/* Whoever asks for a call spins; all other kinds sleep, or go on. */
static bool longest_spin(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value)
{
	(void)taken_ns;
	for (size_t i = 0; i < cpu->nr_kinds; i++)
		if (!strcmp(cpu->kinds[i].name, "call")) {
			*value = cpu->kinds[i].longest_ns;
			return true;
		}
	return false;
}

static bool uncounted(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value)
{
	(void)taken_ns;
	*value = cpu->uncounted;
	return true;
}

static bool ticks(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value)
{
	(void)taken_ns;
	*value = cpu->own.ticks;
	return cpu->own.known;
}

static bool entries(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value)
{
	(void)taken_ns;
	*value = cpu->own.entries;
	return cpu->own.entries_known;
}

static bool yields(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value)
{
	(void)taken_ns;
	*value = cpu->own.yields;
	return cpu->own.known;
}

static bool interruptions(const struct proc_cpu *cpu, uint64_t taken_ns, uint64_t *value)
{
	(void)taken_ns;
	*value = cpu->own.planned;
	return cpu->own.known;
}

/* Those with one value for each CPU. */
static const struct simple {
	const char *name;
	enum exposition_type type;
	bool time;		/* in ns */
	const char *about;
	cpu_value value;
} simple[] = {
	{ "cpu_user_mode", EXPOSITION_GAUGE, false,
	  "1: the isolated thread was in user mode, where nothing interrupts it.", user },
	{ "cpu_isolated_seconds", EXPOSITION_GAUGE, true,
	  "For how long the CPU has been isolated.", isolated_for },
	{ "cpu_deadline_seconds", EXPOSITION_GAUGE, true,
	  "How long a request that sleeps, or that nobody waits for, may wait.", deadline },
	{ "cpu_spin_deadline_seconds", EXPOSITION_GAUGE, true,
	  "How long a sender may spin for the CPU.", spin },
	{ "longest_spin_seconds", EXPOSITION_GAUGE, true,
	  "The longest that a sender spun for the CPU.", longest_spin },
	{ "uncounted_callbacks", EXPOSITION_COUNTER, false,
	  "Requests that are in no count of callbacks, as the kernel had no room.", uncounted },
	{ "ticks", EXPOSITION_COUNTER, false, "Ticks of the isolated thread.", ticks },
	{ "tick_entries", EXPOSITION_COUNTER, false,
	  "Ticks that were kernel entries made for something else.", entries },
	{ "yields", EXPOSITION_COUNTER, false,
	  "How often a tick yielded the CPU to its kernel threads.", yields },
	{ "planned_interruptions", EXPOSITION_COUNTER, false,
	  "Interruptions that the start asked for.", interruptions },
};

static void put_simple(struct exposition *to, const struct proc_sample *sample)
{
	for (size_t m = 0; m < ARRAY_SIZE(simple); m++) {
		exposition_family(to, simple[m].type, simple[m].time ? "seconds" : NULL,
				  simple[m].about, "isolator_%s", simple[m].name);
		for (size_t i = 0; i < sample->nr_cpus; i++) {
			uint64_t value;

			if (!simple[m].value(&sample->cpus[i], sample->taken_ns, &value))
				continue;
			exposition_sample(to);
			exposition_label_number(to, "cpu", sample->cpus[i].cpu);
			(simple[m].time ? exposition_ns : exposition_number)(to, value);
		}
	}
}

static void put_allowed(struct exposition *to, const struct proc_sample *sample)
{
	struct cpulist allowed = { 0 }, isolated = { 0 }, known = { 0 };

	cpulist_read(sample->allowed, &allowed);
	cpulist_read(sample->isolated, &isolated);
	known = allowed;
	for (size_t i = 0; i < sample->nr_cpus; i++)
		cpulist_add(&known, sample->cpus[i].cpu);
	exposition_family(to, EXPOSITION_GAUGE, NULL,
			  "1: an administrator lets the CPU be isolated.", "isolator_cpu_allowed");
	for (int cpu = -1; (cpu = cpulist_next(&known, cpu)) >= 0;) {
		exposition_sample(to);
		exposition_label_number(to, "cpu", cpu);
		exposition_number(to, cpulist_has(&allowed, cpu));
	}
	exposition_family(to, EXPOSITION_GAUGE, NULL, "1: the CPU is isolated.",
			  "isolator_cpu_isolated");
	for (int cpu = -1; (cpu = cpulist_next(&known, cpu)) >= 0;) {
		exposition_sample(to);
		exposition_label_number(to, "cpu", cpu);
		exposition_number(to, cpulist_has(&isolated, cpu));
	}
}

/* Those that were found; else the thread that the kernel names, which has ended. */
static void put_owners(struct exposition *to, const struct cpu_metrics *state,
		       const struct proc_cpu *cpu)
{
	bool found = false;

	for (size_t i = 0; i < state->holders->count; i++) {
		const struct holder *holder = &state->holders->list[i];

		if (holder->cpu != cpu->cpu)
			continue;
		exposition_sample(to);
		exposition_label_number(to, "cpu", cpu->cpu);
		exposition_label_number(to, "pid", holder->pid);
		exposition_label_number(to, "tid", holder->tid);
		if (state->names)
			exposition_label(to, "name", holder->name);
		exposition_number(to, 1);
		found = true;
	}
	if (found || cpu->owner <= 0)
		return;
	exposition_sample(to);
	exposition_label_number(to, "cpu", cpu->cpu);
	exposition_label_number(to, "tid", cpu->owner);
	exposition_number(to, 1);
}

/* What a start asked for and got. */
static void put_achieved(struct exposition *to, const struct proc_cpu *cpu)
{
	static const struct {
		bool mask;
		uint64_t bit;
		const char *what;
	} parts[] = {
		{ true, ISOLATOR_MASK_CLOCK, "clock" },
		{ true, ISOLATOR_MASK_RESCHED, "resched" },
		{ true, ISOLATOR_MASK_IPI, "ipi" },
		{ false, ISOLATOR_GOT_WATCHDOG, "watchdog" },
		{ false, ISOLATOR_GOT_TIMEKEEPER, "timekeeper" },
		{ false, ISOLATOR_GOT_TASKS, "tasks" },
		{ false, ISOLATOR_GOT_IRQS, "irqs" },
		{ false, ISOLATOR_GOT_MM, "mm" },
		{ false, ISOLATOR_GOT_LOCKED, "locked" },
		{ false, ISOLATOR_GOT_RCU, "rcu" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		exposition_sample(to);
		exposition_label_number(to, "cpu", cpu->cpu);
		exposition_label(to, "what", parts[i].what);
		exposition_number(to, !!((parts[i].mask ? cpu->mask : cpu->got) & parts[i].bit));
	}
}

void cpu_metrics_put(struct exposition *to, const struct cpu_metrics *state)
{
	const struct proc_sample *sample = state->sample;

	put_allowed(to, sample);
	exposition_family(to, EXPOSITION_INFO, NULL, "Whose the isolation is.",
			  "isolator_cpu_owner");
	for (size_t i = 0; i < sample->nr_cpus; i++)
		if (sample->cpus[i].isolated)
			put_owners(to, state, &sample->cpus[i]);
	exposition_family(to, EXPOSITION_INFO, NULL, "How the last isolation of the CPU ended.",
			  "isolator_cpu_end");
	for (size_t i = 0; i < sample->nr_cpus; i++) {
		if (sample->cpus[i].isolated)
			continue;
		exposition_sample(to);
		exposition_label_number(to, "cpu", sample->cpus[i].cpu);
		exposition_label(to, "by", sample->cpus[i].end);
		exposition_number(to, 1);
	}
	exposition_family(to, EXPOSITION_GAUGE, NULL,
			  "1: the start achieved this; 0: it did not, or was not asked to.",
			  "isolator_cpu_achieved");
	for (size_t i = 0; i < sample->nr_cpus; i++)
		if (sample->cpus[i].isolated)
			put_achieved(to, &sample->cpus[i]);
	put_simple(to, sample);
	for (int c = 0; c < COUNTS; c++) {
		exposition_family(to, EXPOSITION_COUNTER, NULL, crowd_metrics_about[c],
				  "isolator_%s", count_names[c]);
		for (size_t i = 0; i < sample->nr_cpus; i++) {
			exposition_sample(to);
			exposition_label_number(to, "cpu", sample->cpus[i].cpu);
			exposition_number(to, sample->cpus[i].total.n[c]);
		}
	}
	exposition_family(to, EXPOSITION_GAUGE, "seconds",
			  "The longest that a request of this kind waited.",
			  "isolator_longest_wait_seconds");
	for (size_t i = 0; i < sample->nr_cpus; i++)
		for (size_t k = 0; k < sample->cpus[i].nr_kinds; k++) {
			exposition_sample(to);
			exposition_label_number(to, "cpu", sample->cpus[i].cpu);
			exposition_label(to, "kind", sample->cpus[i].kinds[k].name);
			exposition_ns(to, sample->cpus[i].kinds[k].longest_ns);
		}
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include <linux/isolator.h>

#include "base/array.h"
#include "base/cpulist.h"
#include "export/cpu_metrics.h"
#include "export/crowd_metrics.h"

/* What the kernel says of a CPU, if it does. */
struct value {
	bool said;
	uint64_t value;
};

/* Whoever asks for a call spins; all other kinds sleep, or go on. */
static struct value longest_spin(const struct proc_cpu *cpu)
{
	for (size_t i = 0; i < cpu->nr_kinds; i++)
		if (!strcmp(cpu->kinds[i].name, "call"))
			return (struct value){ true, cpu->kinds[i].longest_ns };
	return (struct value){ 0 };
}

enum simple {
	USER_MODE, ISOLATED_FOR, DEADLINE, SPIN_DEADLINE, LONGEST_SPIN, UNCOUNTED, TICKS,
	TICK_ENTRIES, YIELDS, INTERRUPTIONS, SIMPLE,
};

static struct value value_of(enum simple metric, const struct proc_cpu *cpu, uint64_t taken_ns)
{
	const struct value values[SIMPLE] = {
		[USER_MODE] = { cpu->isolated && cpu->user != PROC_UNSAID, (uint64_t)cpu->user },
		[ISOLATED_FOR] = { cpu->isolated && cpu->started_ns < taken_ns,
				   taken_ns - cpu->started_ns },
		[DEADLINE] = { cpu->isolated, cpu->deadline_ns },	/* PROC_NEVER is +Inf */
		[SPIN_DEADLINE] = { cpu->isolated, cpu->spin_ns },
		[LONGEST_SPIN] = longest_spin(cpu),
		[UNCOUNTED] = { true, cpu->uncounted },
		[TICKS] = { cpu->own.known, cpu->own.ticks },
		[TICK_ENTRIES] = { cpu->own.entries_known, cpu->own.entries },
		[YIELDS] = { cpu->own.known, cpu->own.yields },
		[INTERRUPTIONS] = { cpu->own.known, cpu->own.planned },
	};

	return values[metric];
}

/* Those with one value for each CPU. */
static void put_simple(struct exposition *to, const struct proc_sample *sample)
{
	static const struct {
		const char *name;
		enum exposition_type type;
		bool time;		/* in ns */
		const char *about;
	} simple[SIMPLE] = {
		[USER_MODE] = { "cpu_user_mode", EXPOSITION_GAUGE, false,
			"1: the isolated thread was in user mode, where nothing interrupts it." },
		[ISOLATED_FOR] = { "cpu_isolated_seconds", EXPOSITION_GAUGE, true,
			"For how long the CPU has been isolated." },
		[DEADLINE] = { "cpu_deadline_seconds", EXPOSITION_GAUGE, true,
			"How long a request that sleeps, or that nobody waits for, may wait." },
		[SPIN_DEADLINE] = { "cpu_spin_deadline_seconds", EXPOSITION_GAUGE, true,
			"How long a sender may spin for the CPU." },
		[LONGEST_SPIN] = { "longest_spin_seconds", EXPOSITION_GAUGE, true,
			"The longest that a sender spun for the CPU." },
		[UNCOUNTED] = { "uncounted_callbacks", EXPOSITION_COUNTER, false,
			"Requests that are in no count of callbacks, as the kernel had no room." },
		[TICKS] = { "ticks", EXPOSITION_COUNTER, false, "Ticks of the isolated thread." },
		[TICK_ENTRIES] = { "tick_entries", EXPOSITION_COUNTER, false,
			"Ticks that were kernel entries made for something else." },
		[YIELDS] = { "yields", EXPOSITION_COUNTER, false,
			"How often a tick yielded the CPU to its kernel threads." },
		[INTERRUPTIONS] = { "planned_interruptions", EXPOSITION_COUNTER, false,
			"Interruptions that the start asked for." },
	};

	for (int m = 0; m < SIMPLE; m++) {
		exposition_family(to, simple[m].type, simple[m].time ? "seconds" : NULL,
				  simple[m].about, "isolator_%s", simple[m].name);
		for (size_t i = 0; i < sample->nr_cpus; i++) {
			struct value value = value_of((enum simple)m, &sample->cpus[i],
						      sample->taken_ns);

			if (!value.said)
				continue;
			exposition_sample(to);
			exposition_label_number(to, "cpu", sample->cpus[i].cpu);
			(simple[m].time ? exposition_ns : exposition_number)(to, value.value);
		}
	}
}

/* Which of the CPUs @known are in @list. */
static void put_list(struct exposition *to, const char *name, const char *about,
		     const struct cpulist *known, const struct cpulist *list)
{
	exposition_family(to, EXPOSITION_GAUGE, NULL, about, "isolator_%s", name);
	for (int cpu = -1; (cpu = cpulist_next(known, cpu)) >= 0;) {
		exposition_sample(to);
		exposition_label_number(to, "cpu", cpu);
		exposition_number(to, cpulist_has(list, cpu));
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
	put_list(to, "cpu_allowed", "1: an administrator lets the CPU be isolated.", &known,
		 &allowed);
	put_list(to, "cpu_isolated", "1: the CPU is isolated.", &known, &isolated);
}

static void put_owner(struct exposition *to, const struct cpu_metrics *state,
		      const struct proc_cpu *cpu)
{
	const struct holder *holder = holders_of(state->holders, cpu);

	if (!cpu->isolated || !cpu->owner)
		return;
	exposition_sample(to);
	exposition_label_number(to, "cpu", cpu->cpu);
	/* Of a thread that has ended only the number is known. */
	if (holder)
		exposition_label_number(to, "pid", holder->pid);
	exposition_label_number(to, "tid", cpu->owner);
	if (holder && state->names)
		exposition_label(to, "name", holder->name);
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
		put_owner(to, state, &sample->cpus[i]);
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

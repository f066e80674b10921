// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include <linux/isolator.h>

#include "base/array.h"
#include "base/term.h"
#include "base/text.h"
#include "proc/text.h"

void proc_text_nothing(FILE *out, const struct proc_sample *sample,
		       const struct cpulist *only)
{
	if (*sample->isolated && only->given) {
		fputs("None of these CPUs is isolated; isolated: ", out);
		term_put(out, sample->isolated);
		fputs(".\n", out);
		return;
	}
	fputs("No CPU is isolated.\n", out);
	if (*sample->allowed) {
		fputs("To isolate one of those allowed (", out);
		term_put(out, sample->allowed);
		fputs("), bind a program to it that calls isolator_start(3):\n"
		      "  taskset -c CPU PROGRAM\n", out);
	} else {
		fputs("None may be. Allow some, as root, then bind a program to one that calls isolator_start(3):\n"
		      "  echo LIST > /proc/isolator/cpus\n"
		      "  taskset -c CPU PROGRAM\n", out);
	}
}

void proc_text_names(FILE *out, const struct proc_sample *sample, const char *command)
{
	if (sample->names == NAMES_DENIED)
		fprintf(out, "Not shown: senders and callbacks, which are for root: sudo isolator %s\n",
			command);
}

const char *proc_text_end(const char *end)
{
	static const struct {
		const char *word, *text;
	} ends[] = {
		{ "stop", "the program stopped it" },
		{ "exit", "the thread exited" },
		{ "exec", "the thread executed another program" },
		{ "affinity", "a cpuset or an affinity change took the CPU away, or gave others" },
		{ "hotplug", "the CPU went offline" },
		{ "system", "the system suspends, reboots or starts another kernel" },
		{ "admin", "an administrator took the CPU out of /proc/isolator/cpus, or another program stopped it" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (!strcmp(ends[i].word, end))
			return ends[i].text;
	return end;
}

char *proc_text_counts(const struct counts *counts)
{
	const char *comma = "";
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	for (int i = 0; i < COUNTS; i++) {
		if (!counts->n[i])
			continue;
		fprintf(out, "%s%s %" PRIu64, comma, count_names[i], counts->n[i]);
		comma = ", ";
	}
	fclose(out);
	return text;
}

void proc_text_shortfall(FILE *out, uint64_t achieved, uint64_t more)
{
	static const struct {
		uint64_t bit;
		const char *text;
	} got[] = {
		{ ISOLATOR_GOT_WATCHDOG, "lockup detectors still look here" },
		{ ISOLATOR_GOT_TIMEKEEPER, "this CPU keeps the time" },
		{ ISOLATOR_GOT_TASKS, "other tasks stay here" },
		{ ISOLATOR_GOT_IRQS, "device interrupts stay here" },
		{ ISOLATOR_GOT_MM, "others touch the task's memory" },
		{ ISOLATOR_GOT_LOCKED, "the task's memory is not all locked" },
		{ ISOLATOR_GOT_RCU, "RCU callbacks stay here" },
	}, masks[] = {
		{ ISOLATOR_MASK_CLOCK, "clock" },
		{ ISOLATOR_MASK_RESCHED, "reschedules" },
		{ ISOLATOR_MASK_IPI, "calls from other CPUs" },
	};
	const char *before = "  not kept away: ";

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		if (achieved & masks[i].bit)
			continue;
		fprintf(out, "%s%s", before, masks[i].text);
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
	before = "  start incomplete: ";
	for (size_t i = 0; i < ARRAY_SIZE(got); i++) {
		if (more & got[i].bit)
			continue;
		fprintf(out, "%s%s", before, got[i].text);
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
}

void proc_text_ticks(FILE *out, const struct proc_cpu *cpu)
{
	char batch[TERM_TIME];

	fprintf(out, "; kernel entries %s", cpu->auto_tick ? "tick" : "do not tick");
	if (cpu->batch_ns)
		fprintf(out, "; batch period %s", term_time(batch, cpu->batch_ns));
	else
		fputs("; no batch period", out);
	if (cpu->quarantine == 1)
		fprintf(out, "; %" PRIu64 " KiB wait in the quarantine",
			cpu->quarantine_bytes / 1024);
}

void proc_text_state(FILE *out, const struct proc_cpu *cpu, bool colours)
{
	const char *bold = term_style(colours, TERM_BOLD);
	const char *plain = term_style(colours, TERM_PLAIN);
	char deadline[TERM_TIME], spin[TERM_TIME], budget[TERM_TIME];

	if (!cpu->isolated) {
		fprintf(out, "%sCPU %d%s: no longer isolated: ", bold, cpu->cpu, plain);
		term_put(out, proc_text_end(cpu->end));
		fputc('\n', out);
		return;
	}
	fprintf(out, "%sCPU %d%s: isolated%s; deadline %s, spin %s, yield %s\n", bold,
		cpu->cpu, plain, cpu->user == PROC_UNSAID ? "" :
		cpu->user ? ", in user mode" : ", in the kernel",
		cpu->deadline_ns == PROC_NEVER ? "never" : term_time(deadline, cpu->deadline_ns),
		term_time(spin, cpu->spin_ns), term_time(budget, cpu->yield_ns));
	proc_text_shortfall(out, cpu->mask, cpu->got);
}

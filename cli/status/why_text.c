// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "proc/hint.h"
#include "proc/text.h"
#include "status/why.h"

#define INDENT 5	/* of what explains a line */

static void put_stack(FILE *out, const struct proc_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++) {
		fprintf(out, "%*s", INDENT + 4, "");
		term_put(out, stack->lines[i]);
		fputc('\n', out);
	}
}

/* How its isolation ended, between these. */
static void put_end(FILE *out, const char *before, const struct proc_cpu *cpu, const char *behind)
{
	fputs(before, out);
	term_put(out, proc_text_end(cpu->end));
	fputs(behind, out);
}

static void put_cpu(FILE *out, const struct why *why, const struct why_cpu *cpu)
{
	const char *bold = term_style(why->colours, TERM_BOLD);
	const char *plain = term_style(why->colours, TERM_PLAIN);
	char *counts = proc_text_counts(&cpu->total);

	fprintf(out, "%sCPU %d%s, ", bold, cpu->now->cpu, plain);
	if (why->seconds > 0)
		fprintf(out, "in %.3g s", why->seconds);
	else if (cpu->now->isolated)
		fputs("since its isolation began", out);
	else
		put_end(out, "in its last isolation (", cpu->now, ")");
	fprintf(out, ": %s\n", *counts ? counts : "nobody asked for it");
	free(counts);
	if (why->seconds > 0 && !cpu->now->isolated) {
		fprintf(out, "%*s", INDENT, "");
		put_end(out, "its isolation has ended meanwhile: ", cpu->now, "\n");
	}
	if (cpu->anew)
		fprintf(out, "%*sa new isolation began meanwhile: only the new one is counted\n",
			INDENT, "");
}

static void put_ranked(FILE *out, const struct why *why, size_t rank)
{
	const struct ranked_sender *entry = &why->ranked.list[rank];
	const struct proc_sender *sender = entry->sender;
	bool red = entry->counts.n[MISSED];
	char *words = sender_words(entry);

	fprintf(out, "%2zu. %s", rank + 1,
		term_style(why->colours, red ? TERM_RED : TERM_BOLD));
	if (why->nr_cpus > 1)
		fprintf(out, "CPU %d: ", entry->cpu);
	term_put(out, words);
	fprintf(out, "%s\n%*s%s\n", term_style(why->colours, TERM_PLAIN), INDENT - 1, "",
		hint(sender->kind, sender->callback));
	if (why->stacks)
		put_stack(out, &sender->stack);
	free(words);
}

static void put_delivery(FILE *out, const struct why *why, int cpu,
			 const struct proc_delivery *delivery)
{
	char time[TERM_TIME];

	fprintf(out, "%*sCPU %d: ", INDENT - 1, "", cpu);
	if (delivery->immediate)
		fputs("immediate", out);
	else
		fprintf(out, "deadline miss, waited %s", term_time(time, delivery->waited_ns));
	if (delivery->named) {
		char *deed = sender_deed(delivery->comm, delivery->kind, delivery->callback);

		fputs(": ", out);
		term_put(out, deed);
		fprintf(out, ", pid %d on CPU %d", delivery->pid, delivery->sender_cpu);
		if (delivery->caller) {
			fputs(", from ", out);
			term_put(out, delivery->caller);
		}
		free(deed);
	} else {
		fputs(", kind ", out);
		term_put(out, delivery->kind);
	}
	fputc('\n', out);
	if (why->stacks)
		put_stack(out, &delivery->stack);
}

static void put_deliveries(FILE *out, const struct why *why)
{
	bool begun = false;

	for (size_t i = 0; i < why->nr_cpus; i++) {
		const struct why_cpu *cpu = &why->cpus[i];

		for (size_t k = cpu->first_delivery; k < cpu->now->nr_deliveries; k++) {
			if (!begun)
				fputs("\nInterruptions in user mode, of each CPU the last that the kernel remembers:\n",
				      out);
			begun = true;
			put_delivery(out, why, cpu->now->cpu, &cpu->now->deliveries[k]);
		}
	}
}

/* The kernel keeps no sender of a request that nobody waits for. */
static bool unrecorded(const struct why *why, size_t told)
{
	for (size_t i = 0; i < told; i++)
		if (!strcmp(why->ranked.list[i].sender->comm, "(unrecorded)"))
			return true;
	return false;
}

static void put_all(FILE *out, const struct why *why)
{
	size_t told = why_told(why);

	for (size_t i = 0; i < why->nr_cpus; i++)
		put_cpu(out, why, &why->cpus[i]);
	if (told)
		fputc('\n', out);
	for (size_t i = 0; i < told; i++)
		put_ranked(out, why, i);
	if (told < why->ranked.count)
		fprintf(out, "%*s%zu more: --top 0 shows all\n", INDENT - 1, "",
			why->ranked.count - told);
	if (unrecorded(why, told))
		fputs("\n(unrecorded): nobody waits for a deferred or excluded request, so the kernel does not\n"
		      "record who made it. To see who does: trace-cmd record -e isolator:isolator_defer -e\n"
		      "isolator:isolator_exclude\n", out);
	put_deliveries(out, why);
	proc_text_names(out, why->now, "why");
}

void why_text(FILE *out, const struct why *why)
{
	struct term_folded folded;

	term_folded_open(&folded);
	put_all(folded.stream, why);
	term_folded_close(&folded, out);
}

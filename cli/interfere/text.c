// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>

#include "base/term.h"
#include "interfere/interfere.h"

/* A number with four digits and its unit: 12.34 M. */
static void put_number(FILE *out, double number)
{
	static const char units[] = " kMGT";
	size_t unit = 0;

	while (number >= 9999.5 && unit + 2 < sizeof(units)) {
		number /= 1000;
		unit++;
	}
	fprintf(out, "%.4g", number);
	if (unit)
		fprintf(out, " %c", units[unit]);
}

static void put_cpu(FILE *out, const struct interfere_view *view,
		    const struct interfere_run *run, size_t index)
{
	const struct load_count *count = &run->cpus[index];

	fprintf(out, "  CPU %d: ", count->cpu);
	put_number(out, (double)count->operations);
	fprintf(out, " %s, ", run->type->operation);
	put_number(out, view->seconds > 0 ? (double)count->operations / view->seconds : 0);
	fputs(" a second\n", out);
}

/* What came of it where it was sent. */
static void put_interrupts(FILE *out, const struct interfere_run *run)
{
	char *targets;

	if (cpulist_empty(load_targets(run->load)))
		return;
	targets = cpulist_text(load_targets(run->load));
	fprintf(out, "  interrupts that came to CPU %s: ", targets);
	if (run->since.lists[LOOK_INTERRUPTS].known)
		fprintf(out, "%" PRIu64 " calls, %" PRIu64 " reschedules, %" PRIu64 " TLB shootdowns\n",
			interfere_interrupts(run, "call"), interfere_interrupts(run, "resched"),
			interfere_interrupts(run, "tlb"));
	else
		fputs("not known, as " INTERRUPTS_PATH " cannot be read\n", out);
	free(targets);
}

static void put_run(FILE *out, const struct interfere_view *view,
		    const struct interfere_run *run)
{
	fprintf(out, "%s%s%s: %s\n", term_style(view->colours, TERM_BOLD), run->name,
		term_style(view->colours, TERM_PLAIN), load_words(run->load));
	for (size_t i = 0; i < load_cpus(run->load); i++)
		put_cpu(out, view, run, i);
	put_interrupts(out, run);
	if (run->why)
		fprintf(out, "  %s%s%s: %s\n", term_style(view->colours, TERM_RED),
			interfere_states[run->state], term_style(view->colours, TERM_PLAIN),
			run->why);
}

static void put_list(FILE *out, const struct interfere_view *view)
{
	for (size_t i = 0; i < view->count; i++) {
		const struct interfere_run *run = &view->runs[i];

		fprintf(out, "%s%s%s", term_style(view->colours, TERM_BOLD), run->name,
			term_style(view->colours, TERM_PLAIN));
		if (run->type->variants)
			fprintf(out, "[:%s]", run->type->variants);
		fprintf(out, "\n  %s\n", run->type->about);
		if (run->why)
			fprintf(out, "  %scannot run here%s: %s\n",
				term_style(view->colours, TERM_RED),
				term_style(view->colours, TERM_PLAIN), run->why);
	}
}

void interfere_text(FILE *out, const struct interfere_view *view)
{
	char *cpus;
	int code;

	if (view->listing) {
		put_list(out, view);
		return;
	}
	for (size_t i = 0; i < view->count; i++)
		put_run(out, view, &view->runs[i]);
	cpus = cpulist_text(view->cpus);
	fprintf(out, "%s: CPU %s, %.1f s%s\n", interfere_verdict(view, &code), cpus,
		view->seconds, view->early ? ", ended early by a signal" : "");
	free(cpus);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>

#include "attribute/parts.h"
#include "base/term.h"
#include "bpf/noise.h"

#define PERCENT 100.0

static void put_sum(FILE *out, const struct noise_run *run, const struct sum *sum, bool colours)
{
	char total[TERM_TIME], worst[TERM_TIME], at[JSON_TIME];

	fprintf(out, "%10" PRIu64 "  %9s  %9s  ", sum->count, term_time(total, sum->total_ns),
		term_time(worst, sum->worst_ns));
	fprintf(out, "%s%s%s", term_style(colours, TERM_BOLD), cause_names[sum->kind],
		term_style(colours, TERM_PLAIN));
	if (sum->who) {
		fputc(' ', out);
		term_put(out, sum->who);
	}
	if (sum->sender) {
		fputs(", by ", out);
		term_put(out, sum->sender);
		fprintf(out, " on CPU %d", sum->sender_cpu);
	}
	if (sum->worst_ns >= run->options->threshold_ns)
		fprintf(out, ", at %s", json_time_text(at, sum->worst_at_ns + run->real_ns));
	fputc('\n', out);
}

static void put_sums(FILE *out, const struct noise_run *run, bool colours)
{
	struct sums all = { 0 };

	sums_merge(&all, &run->sums);
	sums_sort(&all);
	fputs("     count       time    longest  what, and who wanted the longest\n", out);
	for (size_t i = 0; i < all.count && i < run->options->top; i++)
		put_sum(out, run, &all.list[i], colours);
	if (all.count > run->options->top)
		fprintf(out, "%zu more (--top)\n", all.count - run->options->top);
	sums_free(&all);
}

static void put_losses(FILE *out, const struct noise_run *run, const struct noise_total *total)
{
	char sum[TERM_TIME], worst[TERM_TIME], limit[TERM_TIME], at[JSON_TIME];

	if (!total->losses) {
		fputs("nothing was taken from a task that is looked at\n", out);
		return;
	}
	fprintf(out, "taken from tasks: %" PRIu64 " times, %s together, %s at most at one stretch, at %s\n",
		total->losses, term_time(sum, total->lost_ns), term_time(worst, total->worst_ns),
		json_time_text(at, total->worst_at_ns + run->real_ns));
	fprintf(out, "%" PRIu64 " of them took %s or longer", total->above,
		term_time(limit, run->options->threshold_ns));
	if (total->dropped)
		fprintf(out, "; of %" PRIu64 " the parts are lost, as the ring was full: a higher --threshold helps",
			total->dropped);
	fputc('\n', out);
}

static void put_cost(FILE *out, const struct noise_run *run, const struct noise_total *total)
{
	char each[TERM_TIME], length[TERM_TIME];

	fprintf(out, "what looking cost: %" PRIu64 " events on these CPUs, %s each, %.3f %% of their time",
		total->events, term_time(each, total->event_ns), PERCENT * total->share);
	if (run->cost.known && run->cost.runs)
		fprintf(out, "; on all CPUs, as the kernel measured it for the first %s, %" PRIu64 " runs of programs, %s each",
			term_time(length, run->cost_ns), run->cost.runs,
			term_time(each, run->cost.run_ns / run->cost.runs));
	fputc('\n', out);
}

static void put_account(FILE *out, const struct noise_run *run, const struct noise_total *total)
{
	if (total->crowded)
		fprintf(out, "%" PRIu64 " times a name was new and the table full: counted among (others)\n",
			total->crowded);
	if (total->unmatched)
		fprintf(out, "%" PRIu64 " begins or ends without the other: they began before, or the kernel does not tell both\n",
			total->unmatched);
	if (total->unseen)
		fprintf(out, "%" PRIu64 " switches were not reported by this kernel: whose the time was is not known, it counts as (others)\n",
			total->unseen);
	if (!noise_complete(run))
		fprintf(out, "inconclusive: %" PRIu64 " events were not counted, %" PRIu64 " of them as they came amid the same program\n",
			total->uncounted + run->cost.missed, run->cost.missed);
}

void noise_text(FILE *out, const struct noise_run *run, bool colours)
{
	struct noise_total total = noise_total(run);
	char length[TERM_TIME], limit[TERM_TIME];
	char *cpus = cpulist_text(&run->options->cpus);

	if (run->notes)
		fputs(run->notes, out);
	fprintf(out, "CPU %s, %s%s\n\n", cpus, term_time(length, run->ended_ns - run->began_ns),
		run->early ? ", ended before its time" : "");
	free(cpus);
	put_sums(out, run, colours);
	fputc('\n', out);
	put_losses(out, run, &total);
	put_cost(out, run, &total);
	put_account(out, run, &total);
	if (run->ranking.nr_findings) {
		fputc('\n', out);
		ranking_text(out, &run->ranking, run->options->top, colours);
	}
	if (run->options->limit_ns)
		fprintf(out, "\n%s: the longest stretch that was taken from a task is %s the limit of %s\n",
			total.worst_ns > run->options->limit_ns ? "exceeded" : "passed",
			total.worst_ns > run->options->limit_ns ? "above" : "within",
			term_time(limit, run->options->limit_ns));
}

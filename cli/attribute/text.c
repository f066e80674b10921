// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "attribute/parts.h"
#include "base/term.h"

#define INDENT 5	/* of what explains a line */
#define RANKS 20	/* the rest is in the document */

static void put_who(FILE *out, enum cause_kind kind, const char *who)
{
	fprintf(out, "%s", cause_names[kind]);
	if (who) {
		fputc(' ', out);
		term_put(out, who);
	}
}

static void put_total(FILE *out, size_t rank, const struct cause_total *total, bool colours)
{
	char sum[TERM_TIME], worst[TERM_TIME], at[JSON_TIME];

	fprintf(out, "%2zu. %s", rank + 1, term_style(colours, TERM_BOLD));
	put_who(out, total->kind, total->who);
	fprintf(out, "%s: %s in %" PRIu64 " %s, longest %s at %s\n",
		term_style(colours, TERM_PLAIN), term_time(sum, total->total_ns), total->count,
		total->count == 1 ? "outlier" : "outliers", term_time(worst, total->worst_ns),
		json_time_text(at, total->worst_at_ns));
}

static void put_cause(FILE *out, const struct cause *cause)
{
	char time[TERM_TIME];

	fprintf(out, "%*s%s ", INDENT, "", term_time(time, cause->ns));
	put_who(out, cause->kind, cause->who);
	if (cause->pid >= 0)
		fprintf(out, ", pid %d", cause->pid);
	if (cause->sender) {
		fputs(", by ", out);
		term_put(out, cause->sender);
	}
	if (cause->sender_cpu >= 0)
		fprintf(out, "%s on CPU %d", cause->sender ? "" : ", by a task",
			cause->sender_cpu);
	fputc('\n', out);
	for (size_t i = 0; i < cause->nr_stack; i++) {
		fprintf(out, "%*s", INDENT + 8, "");
		term_put(out, cause->stack[i]);
		fputc('\n', out);
	}
}

static void put_finding(FILE *out, const struct finding *finding)
{
	const struct outlier *outlier = &finding->outlier;
	char value[TERM_TIME], time[TERM_TIME], at[JSON_TIME];
	uint64_t length = outlier->to_ns - outlier->from_ns;

	fprintf(out, "CPU %d, %s at %s, trigger %" PRIu64 "\n", outlier->cpu,
		term_time(value, outlier->value_ns), json_time_text(at, finding->at_ns),
		outlier->trigger);
	for (size_t i = 0; i < finding->count; i++)
		put_cause(out, &finding->causes[i]);
	if (outlier->to_ns > outlier->from_ns && length > finding->explained_ns)
		fprintf(out, "%*s%s without a cause: entries and exits of the kernel, or its own code\n",
			INDENT, "", term_time(time, length - finding->explained_ns));
}

/* The ranked causes, and the @most worst outliers. */
static void put_ranking(FILE *out, const struct ranking *ranking, size_t most, bool colours)
{
	for (size_t i = 0; i < ranking->count && i < RANKS; i++)
		put_total(out, i, &ranking->totals[i], colours);
	if (ranking->count > RANKS)
		fprintf(out, "%*s%zu more\n", INDENT - 1, "", ranking->count - RANKS);
	for (size_t i = 0; i < ranking->nr_findings && i < most; i++) {
		fputc('\n', out);
		put_finding(out, ranking->findings[i]);
	}
}

void attribute_text(FILE *out, struct attribute *attribute, size_t most, bool colours)
{
	const char *notes = attribute->fs.notes;

	/* What cannot be told here, in lines. */
	if (notes)
		fputs(notes, out);
	if (!attribute->seen) {
		fputs("no value was above the threshold\n", out);
		return;
	}
	fprintf(out, "%" PRIu64 " values above the threshold, %" PRIu64 " looked into",
		attribute->seen, attribute->looked);
	if (attribute->lost)
		fprintf(out, ", %" PRIu64 " events of theirs overwritten before that",
			attribute->lost);
	fputs("\n\n", out);
	ranking_sort(&attribute->ranking);
	put_ranking(out, &attribute->ranking, most, colours);
}

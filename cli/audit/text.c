// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/boot.h"
#include "base/term.h"
#include "base/text.h"
#include "journal/journal.h"

#define VALUE_MAX 64

/* Why these CPUs are looked at, by the word of the schema. */
static const char *chosen_words(const char *chosen)
{
	static const char *const words[] = {
		"isolator", "allowed in /proc/isolator/cpus",
		"nohz_full", "booted with nohz_full",
		"isolated", "booted with isolcpus, or in an isolated partition",
		"capture", "chosen when the archive was saved",
		"others", "all except the first; --cpu chooses others",
		"option", "",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i += 2)
		if (!strcmp(words[i], chosen))
			return words[i + 1];
	return chosen;
}

static void put_head(FILE *out, const struct audit_view *view, const char *cpus)
{
	const struct audit *audit = view->audit;
	const struct capture_file *release = capture_find(audit->capture,
							  "/proc/sys/kernel/osrelease");
	const char *why = chosen_words(audit->chosen);

	fprintf(out, "%sCPU %s%s", term_style(view->colours, TERM_BOLD), cpus,
		term_style(view->colours, TERM_PLAIN));
	if (*why)
		fprintf(out, " (%s)", why);
	if (release && release->value) {
		fputs(", kernel ", out);
		term_put(out, release->value);
	}
	fputc('\n', out);
}

void audit_put_value(FILE *out, const char *value)
{
	char *trimmed = text_trim(value), *line;
	size_t length = strcspn(trimmed, "\n");

	if (length > VALUE_MAX)
		length = VALUE_MAX;
	line = text_format("%.*s%s", (int)length, trimmed, trimmed[length] ? " ..." : "");
	term_put(out, *line ? line : "(empty)");
	free(line);
	free(trimmed);
}

static void put_outcome(FILE *out, const struct audit_view *view,
			const struct audit_finding *finding)
{
	const char *red = term_style(view->colours, TERM_RED);
	const char *plain = term_style(view->colours, TERM_PLAIN);

	switch (finding->outcome) {
	case OUTCOME_NONE:
		return;
	case OUTCOME_FIXED:
		fputs("      fixed: it is now ", out);
		audit_put_value(out, finding->now);
		break;
	case OUTCOME_REFUSED:
		/* Why, and what helps: all of it. */
		fprintf(out, "      %snot fixed%s: ", red, plain);
		term_put(out, finding->now);
		break;
	case OUTCOME_IGNORED:
		fprintf(out, "      %snot fixed%s: it is still ", red, plain);
		audit_put_value(out, finding->now);
		break;
	case OUTCOME_PENDING:
		fputs("      from the next boot on: ", out);
		audit_put_value(out, finding->now);
		break;
	}
	fputc('\n', out);
}

/* Which devices send the interrupt that the file @path is of; "": none, or not known. */
static const char *devices(const struct audit *audit, const char *path)
{
	static const char irqs[] = "/proc/irq/";
	const struct capture_file *actions;
	char *name;

	if (strncmp(path, irqs, strlen(irqs)))
		return "";
	path += strlen(irqs);
	name = text_format("/sys/kernel/irq/%.*s/actions", (int)strcspn(path, "/"), path);
	actions = capture_find(audit->capture, name);
	free(name);
	return actions && !actions->error ? actions->value : "";
}

static void put_path(FILE *out, const struct audit_view *view,
		     const struct audit_finding *finding)
{
	const char *names = devices(view->audit, finding->path);

	fputs("    ", out);
	term_put(out, finding->path);
	if (*names) {
		fputs(" (", out);
		term_put(out, names);
		fputc(')', out);
	}
	fputs(": ", out);
	audit_put_value(out, finding->value);
	fputc('\n', out);
}

/* What fixes it and what undoes that; @each: for all files that stand above. */
static void put_remedy(FILE *out, const char *each, const char *fix, const char *undo)
{
	if (*fix) {
		fprintf(out, "      fix%s:  ", each);
		term_put(out, fix);
		fputc('\n', out);
	}
	if (*undo) {
		fprintf(out, "      undo%s: ", each);
		term_put(out, undo);
		fputc('\n', out);
	}
}

/* Is the same to be done about two findings, except for the file? */
static bool alike(const struct audit_finding *a, const struct audit_finding *b)
{
	return a->check == b->check && a->severity == b->severity &&
		a->remedy == b->remedy && a->outcome == OUTCOME_NONE &&
		b->outcome == OUTCOME_NONE && !strcmp(a->value, b->value) &&
		(a->wanted ? *a->wanted && !strchr(a->value, '\n') &&
		 !strcmp(a->wanted, b->wanted) :
		 !strcmp(a->fix, b->fix) && !strcmp(a->undo, b->undo));
}

/* The findings from @at on that are told together; returns how many. */
static size_t put_findings(FILE *out, const struct audit_view *view, size_t at)
{
	const struct audit *audit = view->audit;
	const struct audit_finding *first = &audit->findings[at];
	size_t count = 1;

	while (at + count < audit->count && alike(first, &audit->findings[at + count]))
		count++;
	for (size_t i = 0; i < count; i++)
		put_path(out, view, &audit->findings[at + i]);
	put_outcome(out, view, first);
	if (count > 1 && first->wanted) {
		char *old = setting_value(first->kind, first->value);
		char *fix = setting_command("FILE", first->wanted);
		char *undo = setting_command("FILE", old);

		put_remedy(out, " each", fix, undo);
		free(undo);
		free(fix);
		free(old);
	} else if (first->outcome != OUTCOME_FIXED && first->outcome != OUTCOME_PENDING) {
		put_remedy(out, "", first->fix, first->undo);
	}
	return count;
}

/* What all findings of a check, which stand together, have in common. */
static void put_check(FILE *out, const struct audit_view *view,
		      const struct audit_finding *finding)
{
	enum term_style style = finding->severity == AUDIT_ERROR ? TERM_RED :
		finding->severity == AUDIT_WARNING ? TERM_BOLD : TERM_DIM;

	fprintf(out, "  %s%-7s%s  %s: %s\n", term_style(view->colours, style),
		audit_severities[finding->severity], term_style(view->colours, TERM_PLAIN),
		finding->check->id, finding->check->why);
	if (finding->check->covered && finding->severity == AUDIT_INFO && view->audit->isolator)
		fputs("           Isolator keeps it away while the CPU is isolated\n", out);
}

static void put_count(FILE *out, size_t n, const char *what, const char **comma)
{
	if (!n)
		return;
	fprintf(out, "%s%zu %s%s", *comma, n, what, n == 1 ? "" : "s");
	*comma = ", ";
}

/* What a verdict counts. */
struct counts {
	size_t headings[AUDIT_ERROR + 1];	/* checks that found something, by severity */
	size_t fixed, fixable, pending, refused;	/* findings, each a setting or a parameter */
	size_t unread;				/* files */
};

static struct counts count(const struct audit_view *view)
{
	const struct audit *audit = view->audit;
	const struct audit_finding *before = NULL;
	struct counts counts = { 0 };

	for (size_t i = 0; i < audit->count; i++) {
		const struct audit_finding *finding = &audit->findings[i];

		counts.pending += finding->outcome == OUTCOME_PENDING;
		counts.refused += finding->outcome == OUTCOME_REFUSED ||
			finding->outcome == OUTCOME_IGNORED;
		counts.fixable += finding->outcome == OUTCOME_NONE &&
			finding->remedy == REMEDY_WRITE && finding->severity >= view->least;
		if (finding->outcome == OUTCOME_FIXED) {
			counts.fixed++;
			continue;
		}
		if (audit_is_unread(finding))
			counts.unread++;
		/* Those of a check stand together, below one heading for each severity. */
		else if (!before || before->check != finding->check ||
			 before->severity != finding->severity)
			counts.headings[finding->severity]++;
		before = finding;
	}
	return counts;
}

/* In a word, or in two. */
static const char *judgement(const struct audit_view *view, const struct counts *counts,
			     size_t open)
{
	if (!view->audit->judged)
		return "inconclusive, no file was readable";
	if (open)
		return "not fit";
	/* What --severity leaves out is not said to be nothing. */
	if (view->least == AUDIT_ERROR && counts->headings[AUDIT_WARNING])
		return "no error";
	return counts->unread ? "fit, as far as files were readable" : "fit";
}

static void put_verdict(FILE *out, const struct audit_view *view, const char *cpus)
{
	const struct audit *audit = view->audit;
	struct counts counts = count(view);
	size_t open = audit_open(audit, view->least);
	const char *comma = "";

	fprintf(out, "%sCPU %s: %s%s: ", term_style(view->colours, open ? TERM_RED : TERM_BOLD),
		cpus, judgement(view, &counts, open), term_style(view->colours, TERM_PLAIN));
	put_count(out, counts.headings[AUDIT_ERROR], "error", &comma);
	put_count(out, counts.headings[AUDIT_WARNING], "warning", &comma);
	put_count(out, counts.headings[AUDIT_INFO], "note", &comma);
	fprintf(out, "%s%u checks", *comma ? " from " : "nothing found by ", audit->judged);
	comma = ", ";
	put_count(out, counts.unread, "file", &comma);
	fputs(counts.unread ? " not readable\n" : "\n", out);
	comma = "";
	put_count(out, counts.fixed, "setting", &comma);
	if (counts.fixed)
		fputs(" fixed now", out);
	put_count(out, counts.pending, "boot parameter", &comma);
	if (counts.pending)
		fputs(" fixed from the next boot on", out);
	if (*comma)
		fputs("; isolator restore undoes this\n", out);
	comma = "";
	put_count(out, counts.refused, "setting", &comma);
	if (counts.refused)
		fputs(" not fixed; the reason is above, at each\n", out);
	comma = "--fix changes ";
	if (view->fixing || audit->capture->kind == CAPTURE_BUNDLE || !counts.fixable)
		return;
	put_count(out, counts.fixable, "setting", &comma);
	fputs(" now; isolator restore undoes that\n", out);
}

static void put_all(FILE *out, const struct audit_view *view)
{
	const struct audit *audit = view->audit;
	char *cpus = cpulist_text(&audit->cpus);
	const struct audit_finding *before = NULL;

	put_head(out, view, cpus);
	for (size_t i = 0; i < audit->count;) {
		const struct audit_finding *finding = &audit->findings[i];

		if (!before || before->group != finding->group)
			fprintf(out, "\n%s\n", finding->group->title);
		if (!before || before->check != finding->check ||
		    before->severity != finding->severity)
			put_check(out, view, finding);
		i += put_findings(out, view, i);
		before = finding;
	}
	boot_text(out, view->boot);
	if (audit->count)
		fputc('\n', out);
	put_verdict(out, view, cpus);
	if (audit->capture->kind != CAPTURE_BUNDLE)
		journal_put_killed(out, audit->capture->root);
	free(cpus);
}

void audit_text(FILE *out, const struct audit_view *view)
{
	struct term_folded folded;

	term_folded_open(&folded);
	put_all(folded.stream, view);
	term_folded_close(&folded, out);
}

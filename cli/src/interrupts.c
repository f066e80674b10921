// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "interrupts.h"
#include "setting.h"
#include "text.h"

#define BLANKS " \t"

static const char *class_of(const char *label, const char *what)
{
	/* By what x86 calls the row; others have but the words behind the counts. */
	static const struct {
		const char *label, *what, *class;
	} classes[] = {
		{ "LOC", "arch_timer", "timer" }, { "HVS", "imer broadcast", "timer" },
		{ "RES", "escheduling", "resched" }, { "CAL", "unction call", "call" },
		{ "TLB", "TLB shoot", "tlb" }, { "IWI", "IRQ work", "work" },
		{ "NMI", "on-maskable", "nmi" }, { "PMI", "erformance monitoring", "nmi" },
		{ "MCE", "achine check", "machine-check" }, { "MCP", "check poll", "machine-check" },
		{ "THR", "hreshold APIC", "machine-check" }, { "TRM", "hermal event", "machine-check" },
		{ "DFR", "eferred Error", "machine-check" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (!strcmp(label, classes[i].label) || strstr(what, classes[i].what))
			return classes[i].class;
	return isdigit((unsigned char)*label) ? "device" : "other";
}

/* The CPU of each column, from the first line. */
static int *columns(const char *line, size_t *count)
{
	int *cpus = NULL;

	*count = 0;
	while ((line = strstr(line, "CPU"))) {
		line += 3;
		*ARRAY_ADD(cpus, *count) = (int)strtol(line, NULL, 10);
	}
	return cpus;
}

/* The words of @text with one blank between; to be freed. */
static char *words(const char *text)
{
	size_t size;
	char *joined;
	FILE *out = text_open(&joined, &size);

	while (*(text += strspn(text, BLANKS))) {
		size_t length = strcspn(text, BLANKS);

		fprintf(out, "%s%.*s", ftell(out) ? " " : "", (int)length, text);
		text += length;
	}
	fclose(out);
	return joined;
}

/* One line "LABEL: N N N what it is". */
static void add_row(struct interrupts *interrupts, char *line, const int *cpus, size_t count,
		    const struct cpulist *wanted)
{
	struct interrupt row = { 0 };
	char *colon = strchr(line, ':'), *at;
	size_t i;

	if (!colon)
		return;
	*colon = '\0';
	line += strspn(line, BLANKS);
	at = colon + 1;
	for (i = 0; i < count; i++) {
		char *end;
		uint64_t n = strtoull(at, &end, 10);

		/* "4-edge" is no count. */
		if (end == at || (*end && !isspace((unsigned char)*end)))
			break;
		at = end;
		if (cpulist_has(wanted, cpus[i]))
			row.count += n;
	}
	/* Some rows have one number for all CPUs: none of these. */
	if (i < 2 && i < count)
		return;
	row.label = text_format("%s", line);
	row.what = words(at);
	row.class = class_of(row.label, row.what);
	*ARRAY_ADD(interrupts->rows, interrupts->count) = row;
}

bool interrupts_parse(struct interrupts *interrupts, char *text, const struct cpulist *cpus)
{
	char *line = strsep(&text, "\n");
	size_t count;
	int *column = columns(line, &count);

	*interrupts = (struct interrupts){ 0 };
	for (size_t i = 0; i < count; i++)
		interrupts->known |= cpulist_has(cpus, column[i]);
	while (interrupts->known && (line = strsep(&text, "\n")))
		add_row(interrupts, line, column, count, cpus);
	free(column);
	return interrupts->known;
}

void interrupts_read(struct interrupts *interrupts, const char *root, const char *path,
		     const struct cpulist *cpus)
{
	char *text = setting_read(root, path);

	*interrupts = (struct interrupts){ 0 };
	if (text)
		interrupts_parse(interrupts, text, cpus);
	free(text);
}

void interrupts_since(struct interrupts *interrupts, const struct interrupts *before)
{
	size_t left = 0;

	for (size_t i = 0; i < interrupts->count; i++) {
		struct interrupt *row = &interrupts->rows[i];

		for (size_t k = 0; k < before->count; k++)
			/* What fell is another device's by now. */
			if (!strcmp(before->rows[k].label, row->label) &&
			    before->rows[k].count <= row->count)
				row->count -= before->rows[k].count;
		if (row->count) {
			interrupts->rows[left++] = *row;
		} else {
			free(row->label);
			free(row->what);
		}
	}
	interrupts->count = left;
	interrupts->known = interrupts->known && before->known;
}

uint64_t interrupts_sum(const struct interrupts *interrupts)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < interrupts->count; i++)
		sum += interrupts->rows[i].count;
	return sum;
}

void interrupts_free(struct interrupts *interrupts)
{
	for (size_t i = 0; i < interrupts->count; i++) {
		free(interrupts->rows[i].label);
		free(interrupts->rows[i].what);
	}
	free(interrupts->rows);
	*interrupts = (struct interrupts){ 0 };
}

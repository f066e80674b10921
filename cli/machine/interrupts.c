// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "machine/interrupts.h"

#define BLANKS " \t"

const char *const interrupt_classes[] = {
	"device", "timer", "resched", "call", "tlb", "work", "nmi", "machine-check", "other", NULL
};

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
		/* Of arm64, with numbers as devices have them, but one for each CPU. */
		{ "", "kvm guest", "timer" }, { "", "arm-pmu", "nmi" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (!strcmp(label, classes[i].label) || strstr(what, classes[i].what))
			return classes[i].class;
	return text_is_number(label) ? "device" : "other";
}

/* Counts of errors that are no CPU's; with one CPU nothing else tells them apart. */
static bool is_whole_machine(const char *label)
{
	static const char *const labels[] = { "ERR", "MIS", "Err", "BAD" };

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (!strcmp(label, labels[i]))
			return true;
	return false;
}

/* Is it a word, all of it to be seen? */
static bool is_label(const char *text)
{
	while (*text > ' ' && *text <= '~')
		text++;
	return !*text;
}

/*
 * The CPU of each column, from the first line, whose number is returned.  @kept has for
 * each its place among those that are wanted; -1: it is not, or stands out of order.
 */
static size_t read_head(struct interrupts *interrupts, const char *line,
			const struct cpulist *wanted, long **kept)
{
	size_t count = 0;
	long last = -1;

	*kept = NULL;
	while ((line = strstr(line, "CPU"))) {
		long cpu = strtol(line + 3, NULL, 10), *place = ARRAY_ADD(*kept, count);

		line += 3;
		*place = -1;
		if (cpu <= last || cpu >= CPULIST_MAX)
			continue;
		last = cpu;
		if (!cpulist_has(wanted, (int)cpu))
			continue;
		*place = (long)interrupts->columns;
		*ARRAY_ADD(interrupts->cpus, interrupts->columns) = (int)cpu;
	}
	return count;
}

/* Leaves one blank between the words of @text, and none around them. */
static void join_words(char *text)
{
	char *to = text, *from = text;

	while (*(from += strspn(from, BLANKS))) {
		size_t length = strcspn(from, BLANKS);

		if (to > text)
			*to++ = ' ';
		memmove(to, from, length);
		to += length;
		from += length;
	}
	*to = '\0';
}

/* The count at *@at, which moves behind it; false: what stands there is none. */
static bool read_count(char **at, uint64_t *count)
{
	char *digit = *at + strspn(*at, BLANKS);
	char *end = digit;

	*count = 0;
	while (*end >= '0' && *end <= '9')
		*count = *count * 10 + (uint64_t)(*end++ - '0');
	/* "4-edge" is no count. */
	if (end == digit || (*end && !strchr(BLANKS, *end)))
		return false;
	*at = end;
	return true;
}

static void free_row(struct interrupt *row)
{
	free(row->label);
	free(row->what);
	free(row->of);
}

/* One line "LABEL: N N N what it is". */
static void add_row(struct interrupts *interrupts, char *line, const long *kept, size_t count)
{
	struct interrupt row = { 0 };
	char *colon = strchr(line, ':'), *at;
	uint64_t n;
	size_t i;

	if (!colon)
		return;
	*colon = '\0';
	line += strspn(line, BLANKS);
	/* One that the kernel would not print is of no interrupt. */
	if (is_whole_machine(line) || !is_label(line))
		return;
	row.of = calloc(interrupts->columns, sizeof(*row.of));
	if (!row.of)
		error_no_memory();
	at = colon + 1;
	for (i = 0; i < count && read_count(&at, &n); i++) {
		if (kept[i] < 0)
			continue;
		row.of[kept[i]] = n;
		row.count += n;
	}
	/* Some rows have one number for all CPUs: none of these. */
	if (i < 2 && i < count) {
		free(row.of);
		return;
	}
	join_words(at);
	row.label = text_format("%s", line);
	row.what = text_format("%s", at);
	row.class = class_of(row.label, row.what);
	*ARRAY_ADD(interrupts->rows, interrupts->count) = row;
}

/* The words of @text behind its first one. */
static const char *next_word(const char *text)
{
	text += strcspn(text, " ");
	return text + strspn(text, " ");
}

const char *interrupt_name(const struct interrupt *row)
{
	const char *at = row->what;

	/* A chip, the interrupt's number there with its trigger, "1-edge" or "1 Level", and names. */
	if (!text_is_number(row->label))
		return row->what;
	do
		at = next_word(at);
	while (*at && (!isdigit((unsigned char)*at) ||
		       !strchr(" -", at[strspn(at, "0123456789")])));
	at = next_word(at);
	if (!strncmp(at, "Level ", strlen("Level ")) || !strncmp(at, "Edge ", strlen("Edge ")))
		at = next_word(at);
	return *at ? at : row->what;
}

bool interrupts_parse(struct interrupts *interrupts, char *text, const struct cpulist *cpus)
{
	char *line = strsep(&text, "\n");
	long *kept;
	size_t count;

	*interrupts = (struct interrupts){ 0 };
	count = read_head(interrupts, line, cpus, &kept);
	interrupts->known = interrupts->columns;
	while (interrupts->known && (line = strsep(&text, "\n")))
		add_row(interrupts, line, kept, count);
	free(kept);
	return interrupts->known;
}

const struct interrupt *interrupts_find(const struct interrupts *interrupts, const char *label,
					size_t near)
{
	/* Ever farther from there, as rows come and go. */
	for (size_t away = 0; away <= near || near + away < interrupts->count; away++) {
		if (near + away < interrupts->count &&
		    !strcmp(interrupts->rows[near + away].label, label))
			return &interrupts->rows[near + away];
		if (away <= near && near - away < interrupts->count &&
		    !strcmp(interrupts->rows[near - away].label, label))
			return &interrupts->rows[near - away];
	}
	return NULL;
}

/* For each column of @now that of the same CPU @before, -1: there is none; to be freed. */
static long *columns_of(const struct interrupts *now, const struct interrupts *before)
{
	long *columns = NULL;
	size_t count = 0, at = 0;

	/* Both ascend. */
	while (count < now->columns) {
		long *column = ARRAY_ADD(columns, count);

		while (at < before->columns && before->cpus[at] < now->cpus[count - 1])
			at++;
		*column = at < before->columns && before->cpus[at] == now->cpus[count - 1] ?
			(long)at : -1;
	}
	return columns;
}

/* Between two counts of 32 bits; what does not wrap has more. */
static uint64_t wrapped(uint64_t before, uint64_t now)
{
	return before <= UINT32_MAX ? (uint32_t)(now - before) : UINT64_MAX;
}

/* Fills the row of what @came. */
static void count_row(struct interrupt *came, const struct interrupt *before,
		      const struct interrupt *now, const long *columns, size_t count, uint64_t most)
{
	came->begin = before ? INTERRUPT_GOES_ON : INTERRUPT_APPEARED;
	for (size_t i = 0; i < count && before; i++) {
		uint64_t old = columns[i] < 0 ? 0 : before->of[columns[i]];

		if (now->of[i] < old && wrapped(old, now->of[i]) > most)
			came->begin = INTERRUPT_ANEW;
	}
	for (size_t i = 0; i < count; i++) {
		bool known = came->begin == INTERRUPT_GOES_ON && columns[i] >= 0;
		uint64_t old = known ? before->of[columns[i]] : 0;

		if (columns[i] >= 0)
			came->of[i] = now->of[i] < old ? wrapped(old, now->of[i]) :
				now->of[i] - old;
		came->count += came->of[i];
	}
}

void interrupts_between(struct interrupts *came, const struct interrupts *before,
			const struct interrupts *now, uint64_t most)
{
	long *columns = columns_of(now, before);

	*came = (struct interrupts){ .known = now->known && before->known };
	while (came->columns < now->columns) {
		int cpu = now->cpus[came->columns];

		*ARRAY_ADD(came->cpus, came->columns) = cpu;
	}
	for (size_t i = 0; i < now->count; i++) {
		const struct interrupt *one = &now->rows[i];
		struct interrupt *row = ARRAY_ADD(came->rows, came->count);

		*row = (struct interrupt){
			.label = text_format("%s", one->label),
			.what = text_format("%s", one->what),
			.class = one->class,
			.of = calloc(now->columns, sizeof(*row->of)),
		};
		if (!row->of)
			error_no_memory();
		count_row(row, interrupts_find(before, one->label, i), one, columns, now->columns,
			  most);
	}
	free(columns);
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
	for (size_t i = 0; i < interrupts->count; i++)
		free_row(&interrupts->rows[i]);
	free(interrupts->rows);
	free(interrupts->cpus);
	*interrupts = (struct interrupts){ 0 };
}

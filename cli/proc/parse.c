// SPDX-License-Identifier: GPL-2.0-or-later
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cpulist.h"
#include "base/error.h"
#include "base/scan.h"
#include "proc/parse.h"

/* Parses what is left of a line "cpu N WORD" into the CPU, and says where its stack goes. */
typedef int (*parse_entry)(struct scan *scan, const char *word, struct proc_cpu *cpu,
			   struct proc_stack **stack);

static struct proc_cpu *find(struct proc_sample *sample, uint64_t number)
{
	for (size_t i = 0; i < sample->nr_cpus; i++)
		if ((uint64_t)sample->cpus[i].cpu == number)
			return &sample->cpus[i];
	return NULL;
}

void parse_free(struct proc_cpu *cpu)
{
	for (size_t i = 0; i < cpu->nr_senders; i++)
		free(cpu->senders[i].stack.lines);
	for (size_t i = 0; i < cpu->nr_deliveries; i++)
		free(cpu->deliveries[i].stack.lines);
	free(cpu->kinds);
	free(cpu->callbacks);
	free(cpu->senders);
	free(cpu->deliveries);
}

/* Fills @keys with one key for each count. */
static size_t count_keys(struct scan_key *keys, struct counts *counts)
{
	for (int i = 0; i < COUNTS; i++)
		keys[i] = (struct scan_key){
			count_names[i], SCAN_NUMBER, { .number = &counts->n[i] },
			/* The first kernels plan no interruptions. */
			i == PLANNED, false
		};
	return COUNTS;
}

static int status_isolated(struct scan *scan, struct proc_cpu *cpu)
{
	const char *deadline = NULL;
	struct scan_key keys[] = {
		{ "mask", SCAN_NUMBER, { .number = &cpu->mask }, false, false },
		{ "got", SCAN_NUMBER, { .number = &cpu->got }, false, false },
		{ "depth", SCAN_NUMBER, { .number = &cpu->depth }, false, false },
		{ "deadline_ns", SCAN_WORD, { .text = &deadline }, false, false },
		{ "spin_ns", SCAN_NUMBER, { .number = &cpu->spin_ns }, false, false },
		{ "yield_ns", SCAN_NUMBER, { .number = &cpu->yield_ns }, false, false },
		{ "batch_ns", SCAN_NUMBER, { .number = &cpu->batch_ns }, false, false },
		{ "auto_tick", SCAN_INTEGER, { .integer = &cpu->auto_tick }, false, false },
		/* An older kernel has no quarantine. */
		{ "quarantine", SCAN_INTEGER, { .integer = &cpu->quarantine }, true, false },
		{ "quarantine_bytes", SCAN_NUMBER, { .number = &cpu->quarantine_bytes }, true,
		  false },
		{ "owner", SCAN_INTEGER, { .integer = &cpu->owner }, false, false },
		{ "user", SCAN_INTEGER, { .integer = &cpu->user }, true, false },
		{ "started_ns", SCAN_NUMBER, { .number = &cpu->started_ns }, false, false },
	};

	cpu->user = PROC_UNSAID;
	cpu->quarantine = PROC_UNSAID;
	if (scan_keys(scan, keys, ARRAY_SIZE(keys)))
		return -1;
	cpu->isolated = true;
	cpu->deadline_ns = PROC_NEVER;
	if (!strcmp(deadline, "never"))
		return 0;
	scan->at = (char *)deadline;
	return scan_number(scan, "deadline_ns", &cpu->deadline_ns);
}

static int status_cpu(struct scan *scan, struct proc_sample *sample)
{
	struct proc_cpu *cpu;
	const char *state;
	uint64_t number;

	if (scan_number(scan, "cpu", &number))
		return -1;
	if (number >= CPULIST_MAX || find(sample, number))
		return scan_fail(scan, "no CPU can be called %llu, or not twice",
				 (unsigned long long)number);
	cpu = ARRAY_ADD(sample->cpus, sample->nr_cpus);
	cpu->cpu = (int)number;
	state = scan_word(scan);
	if (state && !strcmp(state, "isolated"))
		return status_isolated(scan, cpu);
	if (state && !strcmp(state, "ended")) {
		struct scan_key keys[] = {
			{ "started_ns", SCAN_NUMBER, { .number = &cpu->started_ns }, false, false },
		};

		cpu->end = scan_word(scan);
		if (cpu->end && *cpu->end)
			return scan_keys(scan, keys, ARRAY_SIZE(keys));
	}
	return scan_fail(scan, "a CPU is \"isolated\" or \"ended\" by something");
}

/* A list of CPUs, which may be empty. */
static int status_list(struct scan *scan, const char **list)
{
	struct cpulist parsed;

	*list = scan->at ? scan->at : "";
	if (**list && !cpulist_parse(*list, &parsed))
		return scan_fail(scan, "\"%.40s\" is not a list of CPUs", *list);
	return 0;
}

int parse_status(struct proc_sample *sample, const char *file, char *text)
{
	struct scan scan = { .file = file, .next = text };
	uint64_t version = 0;

	while (scan_line(&scan)) {
		const char *word = scan_word(&scan);
		int error;

		if (!version && strcmp(word, "version"))
			return scan_fail(&scan, "it does not begin with its version");
		if (!strcmp(word, "version")) {
			error = scan_number(&scan, "version", &version);
			if (!error && version != PROC_VERSION) {
				error_say("%s has version %llu, this command knows %d: install the isolator command that belongs to the running kernel",
					  file, (unsigned long long)version, PROC_VERSION);
				return -1;
			}
		} else if (!strcmp(word, "allowed")) {
			error = status_list(&scan, &sample->allowed);
		} else if (!strcmp(word, "isolated")) {
			error = status_list(&scan, &sample->isolated);
		} else if (!strcmp(word, "cpu")) {
			error = status_cpu(&scan, sample);
		} else {
			error = scan_pass(&scan, word);
		}
		if (error)
			return -1;
	}
	if (!sample->allowed || !sample->isolated)
		return scan_fail(&scan, "no \"%s\" in it", sample->allowed ? "isolated" : "allowed");
	return 0;
}

static int stats_total(struct scan *scan, struct proc_cpu *cpu)
{
	struct scan_key keys[COUNTS + 1];
	size_t n = count_keys(keys, &cpu->total);

	cpu->counted = true;
	keys[n++] = (struct scan_key){ "uncounted_callbacks", SCAN_NUMBER,
		{ .number = &cpu->uncounted }, true, false };
	return scan_keys(scan, keys, n);
}

static int stats_own(struct scan *scan, struct proc_cpu *cpu)
{
	struct scan_key keys[] = {
		{ "ticks", SCAN_NUMBER, { .number = &cpu->own.ticks }, false, false },
		{ "yields", SCAN_NUMBER, { .number = &cpu->own.yields }, false, false },
		{ "planned", SCAN_NUMBER, { .number = &cpu->own.planned }, false, false },
		{ "entries", SCAN_NUMBER, { .number = &cpu->own.entries }, true, false },
	};
	int error = scan_keys(scan, keys, ARRAY_SIZE(keys));

	cpu->own.known = true;
	cpu->own.entries_known = keys[ARRAY_SIZE(keys) - 1].seen;
	return error;
}

static int stats_kind(struct scan *scan, struct proc_cpu *cpu)
{
	struct proc_kind kind = { .name = scan_word(scan) };
	struct scan_key key = { "longest_ns", SCAN_NUMBER, { .number = &kind.longest_ns },
		false, false };

	if (!kind.name || !*kind.name)
		return scan_fail(scan, "a kind has no name");
	if (scan_keys(scan, &key, 1))
		return -1;
	*ARRAY_ADD(cpu->kinds, cpu->nr_kinds) = kind;
	return 0;
}

static int stats_callback(struct scan *scan, struct proc_cpu *cpu)
{
	struct proc_callback callback = { .name = scan_symbol(scan) };
	struct scan_key keys[COUNTS + 1];
	size_t n = count_keys(keys, &callback.counts);

	if (!callback.name || !*callback.name)
		return scan_fail(scan, "a callback has no name");
	keys[n++] = (struct scan_key){ "longest_ns", SCAN_NUMBER,
		{ .number = &callback.longest_ns }, false, false };
	if (scan_keys(scan, keys, n))
		return -1;
	*ARRAY_ADD(cpu->callbacks, cpu->nr_callbacks) = callback;
	return 0;
}

static int stats_entry(struct scan *scan, const char *word, struct proc_cpu *cpu,
		       struct proc_stack **stack)
{
	*stack = NULL;
	if (!strcmp(word, "total"))
		return stats_total(scan, cpu);
	if (!strcmp(word, "own"))
		return stats_own(scan, cpu);
	if (!strcmp(word, "kind"))
		return stats_kind(scan, cpu);
	if (!strcmp(word, "callback"))
		return stats_callback(scan, cpu);
	return scan_pass(scan, word);
}

/* What the kernel writes for no address. */
static const char *or_none(const char *symbol)
{
	return symbol && strcmp(symbol, "-") && strcmp(symbol, "0x0") ? symbol : NULL;
}

static int senders_entry(struct scan *scan, const char *word, struct proc_cpu *cpu,
			 struct proc_stack **stack)
{
	struct proc_sender sender = { 0 }, *added;
	const struct proc_sender *same;
	struct scan_key keys[COUNTS + 4] = {
		{ "callback", SCAN_SYMBOL, { .text = &sender.callback }, false, false },
		{ "kind", SCAN_WORD, { .text = &sender.kind }, false, false },
		{ "longest_ns", SCAN_NUMBER, { .number = &sender.longest_ns }, false, false },
		{ "comm", SCAN_REST, { .text = &sender.comm }, false, false },
	};

	*stack = NULL;
	if (strcmp(word, "sender"))
		return scan_pass(scan, word);
	count_keys(keys + 4, &sender.counts);
	if (scan_keys(scan, keys, ARRAY_SIZE(keys)))
		return -1;
	sender.callback = or_none(sender.callback);
	/* A module that was loaded again has the same functions elsewhere. */
	same = proc_sender(cpu, &sender);
	if (same) {
		added = &cpu->senders[same - cpu->senders];
		counts_add(&added->counts, &sender.counts);
		if (sender.longest_ns > added->longest_ns)
			added->longest_ns = sender.longest_ns;
		return 0;
	}
	added = ARRAY_ADD(cpu->senders, cpu->nr_senders);
	*added = sender;
	*stack = &added->stack;
	return 0;
}

static int deliveries_entry(struct scan *scan, const char *word, struct proc_cpu *cpu,
			    struct proc_stack **stack)
{
	struct proc_delivery delivery = { .immediate = !strcmp(word, "immediate"), .sender_cpu = -1 };
	struct scan_key keys[] = {
		{ "kind", SCAN_WORD, { .text = &delivery.kind }, false, false },
		{ "at_ns", SCAN_NUMBER, { .number = &delivery.at_ns }, false, false },
		{ "waited_ns", SCAN_NUMBER, { .number = &delivery.waited_ns }, false, false },
		{ "callback", SCAN_SYMBOL, { .text = &delivery.callback }, true, false },
		{ "caller", SCAN_SYMBOL, { .text = &delivery.caller }, true, false },
		{ "sender_cpu", SCAN_INTEGER, { .integer = &delivery.sender_cpu }, true, false },
		{ "pid", SCAN_INTEGER, { .integer = &delivery.pid }, true, false },
		{ "comm", SCAN_REST, { .text = &delivery.comm }, true, false },
	};
	struct proc_delivery *added;

	*stack = NULL;
	if (!delivery.immediate && strcmp(word, "deadline_miss"))
		return scan_pass(scan, word);
	if (scan_keys(scan, keys, ARRAY_SIZE(keys)))
		return -1;
	delivery.named = delivery.comm != NULL;
	delivery.callback = or_none(delivery.callback);
	delivery.caller = or_none(delivery.caller);
	added = ARRAY_ADD(cpu->deliveries, cpu->nr_deliveries);
	*added = delivery;
	*stack = &added->stack;
	return 0;
}

/* Lines "cpu N WORD ...", some with a stack behind them. */
static int parse_entries(struct proc_sample *sample, const char *file, char *text,
			 parse_entry entry)
{
	struct scan scan = { .file = file, .next = text };
	/* For CPUs that were not isolated yet when status was read. */
	struct proc_cpu unknown = { 0 };
	struct proc_stack *stack = NULL;
	bool first = true;
	int error = 0;

	while (!error && scan_line(&scan)) {
		struct proc_cpu *cpu;
		uint64_t number;
		const char *word;

		if (!strncmp(scan.at, "  ", 2)) {
			if (first)
				error = scan_fail(&scan, "a stack of nobody");
			else if (stack)
				*ARRAY_ADD(stack->lines, stack->count) = scan.at + 2;
			continue;
		}
		first = false;
		word = scan_word(&scan);
		if (strcmp(word, "cpu")) {
			error = scan_fail(&scan, "\"%.40s\" is not one of its words", word);
			break;
		}
		error = scan_number(&scan, "cpu", &number);
		if (error)
			break;
		word = scan_word(&scan);
		if (!word || !*word) {
			error = scan_fail(&scan, "the line of the CPU is missing");
			break;
		}
		cpu = find(sample, number);
		error = entry(&scan, word, cpu ? cpu : &unknown, &stack);
	}
	parse_free(&unknown);
	return error;
}

int parse_stats(struct proc_sample *sample, const char *file, char *text)
{
	if (parse_entries(sample, file, text, stats_entry))
		return -1;
	for (size_t i = 0; i < sample->nr_cpus; i++) {
		if (sample->cpus[i].counted)
			continue;
		error_say("%s has no total of CPU %d, though status lists it: it is damaged, or of a kernel that this command does not know: install the command that belongs to the kernel",
			  file, sample->cpus[i].cpu);
		return -1;
	}
	return 0;
}

int parse_senders(struct proc_sample *sample, const char *file, char *text)
{
	return parse_entries(sample, file, text, senders_entry);
}

int parse_deliveries(struct proc_sample *sample, const char *file, char *text)
{
	return parse_entries(sample, file, text, deliveries_entry);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "proc/hint.h"
#include "proc/json.h"
#include "status/why.h"

static void put_cpu(struct json *json, const struct why_cpu *cpu)
{
	const struct proc_kind *longest = proc_longest(cpu->now);

	proc_json_cpu(json, cpu->now);
	json_bool(json, "restarted", cpu->anew);
	proc_json_counts(json, "counts", &cpu->total);
	/* Of the whole isolation, as the kernel keeps a maximum. */
	json_number(json, "longest_ns", longest ? longest->longest_ns : 0);
	json_close(json, '}');
}

static void put_ranked(struct json *json, const struct why *why, size_t rank)
{
	const struct ranked_sender *entry = &why->ranked.list[rank];
	const struct proc_sender *sender = entry->sender;
	char *words = sender_words(entry);

	json_open(json, NULL, '{');
	json_number(json, "rank", rank + 1);
	json_integer(json, "cpu", entry->cpu);
	json_string(json, "callback", sender->callback);
	json_string(json, "kind", sender->kind);
	json_string(json, "comm", sender->comm);
	proc_json_counts(json, "counts", &entry->counts);
	json_number(json, "longest_ns", entry->longest_ns);
	json_string(json, "words", words);
	json_string(json, "hint", hint(sender->kind, sender->callback));
	if (why->stacks)
		proc_json_stack(json, &sender->stack);
	json_close(json, '}');
	free(words);
}

static void put_delivery(struct json *json, const struct why *why, int cpu,
			 const struct proc_delivery *delivery)
{
	json_open(json, NULL, '{');
	json_integer(json, "cpu", cpu);
	json_string(json, "type", delivery->immediate ? "immediate" : "deadline-miss");
	json_string(json, "kind", delivery->kind);
	json_number(json, "at_ns", delivery->at_ns);
	json_number(json, "waited_ns", delivery->waited_ns);
	json_string(json, "callback", delivery->callback);
	json_string(json, "caller", delivery->caller);
	json_string(json, "comm", delivery->comm);
	if (delivery->named) {
		json_integer(json, "pid", delivery->pid);
		json_integer(json, "sender_cpu", delivery->sender_cpu);
	} else {
		json_null(json, "pid");
		json_null(json, "sender_cpu");
	}
	if (why->stacks)
		proc_json_stack(json, &delivery->stack);
	json_close(json, '}');
}

void why_json(FILE *out, const struct why *why)
{
	struct json json = { .out = out };
	size_t told = why_told(why);

	proc_json_open(&json, "isolator.why", why->now);
	if (why->seconds > 0)
		json_real(&json, "seconds", why->seconds);
	else
		json_null(&json, "seconds");
	json_open(&json, "cpus", '[');
	for (size_t i = 0; i < why->nr_cpus; i++)
		put_cpu(&json, &why->cpus[i]);
	json_close(&json, ']');
	json_open(&json, "senders", '[');
	for (size_t i = 0; i < told; i++)
		put_ranked(&json, why, i);
	json_close(&json, ']');
	json_number(&json, "senders_left_out", why->ranked.count - told);
	json_open(&json, "deliveries", '[');
	for (size_t i = 0; i < why->nr_cpus; i++) {
		const struct why_cpu *cpu = &why->cpus[i];

		for (size_t k = cpu->first_delivery; k < cpu->now->nr_deliveries; k++)
			put_delivery(&json, why, cpu->now->cpu, &cpu->now->deliveries[k]);
	}
	json_close(&json, ']');
	json_document_end(&json);
}

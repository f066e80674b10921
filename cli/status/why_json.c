// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "proc/hint.h"
#include "proc/json.h"
#include "status/why.h"

static void put_cpu(struct json *json, const struct why_cpu *cpu)
{
	const struct proc_kind *longest = proc_longest(cpu->now);

	proc_json_cpu(json, cpu->now);
	json_bool(json, "anew", cpu->anew);
	proc_json_counts(json, "counts", &cpu->total);
	/* Of the whole isolation, as the kernel keeps a maximum. */
	json_number(json, "longest_ns", longest ? longest->longest_ns : 0);
	json_close(json, '}');
}

static void put_culprit(struct json *json, const struct why *why, size_t rank)
{
	const struct culprit *culprit = &why->culprits.list[rank];
	const struct proc_sender *sender = culprit->sender;
	char *words = culprit_words(culprit);

	json_open(json, NULL, '{');
	json_number(json, "rank", rank + 1);
	json_integer(json, "cpu", culprit->cpu);
	json_string(json, "callback", sender->callback);
	json_string(json, "kind", sender->kind);
	json_string(json, "comm", sender->comm);
	proc_json_counts(json, "counts", &culprit->counts);
	json_number(json, "longest_ns", culprit->longest_ns);
	json_string(json, "words", words);
	json_string(json, "hint", hint(sender->kind, sender->callback));
	if (why->stacks)
		proc_json_stack(json, &sender->stack);
	json_close(json, '}');
	free(words);
}

static void put_breach(struct json *json, const struct why *why, int cpu,
		       const struct proc_breach *breach)
{
	json_open(json, NULL, '{');
	json_integer(json, "cpu", cpu);
	json_string(json, "type", breach->forced ? "break" : "breach");
	json_string(json, "kind", breach->kind);
	json_number(json, "at_ns", breach->at_ns);
	json_number(json, "waited_ns", breach->waited_ns);
	json_string(json, "callback", breach->callback);
	json_string(json, "caller", breach->caller);
	json_string(json, "comm", breach->comm);
	if (breach->named) {
		json_integer(json, "pid", breach->pid);
		json_integer(json, "sender_cpu", breach->sender_cpu);
	} else {
		json_null(json, "pid");
		json_null(json, "sender_cpu");
	}
	if (why->stacks)
		proc_json_stack(json, &breach->stack);
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
	json_open(&json, "culprits", '[');
	for (size_t i = 0; i < told; i++)
		put_culprit(&json, why, i);
	json_close(&json, ']');
	json_number(&json, "culprits_left_out", why->culprits.count - told);
	json_open(&json, "breaches", '[');
	for (size_t i = 0; i < why->nr_cpus; i++) {
		const struct why_cpu *cpu = &why->cpus[i];

		for (size_t k = cpu->first_breach; k < cpu->now->nr_breaches; k++)
			put_breach(&json, why, cpu->now->cpu, &cpu->now->breaches[k]);
	}
	json_close(&json, ']');
	json_document_end(&json);
}

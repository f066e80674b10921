// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/utsname.h>

#include "attribute/parts.h"
#include "bpf/noise.h"

#define SCHEMA_VERSION 1
#define NS 1e9

/* UTC; null where nothing was. */
static void put_time(struct json *json, const char *key, const struct noise_run *run, uint64_t ns)
{
	if (ns)
		json_time(json, key, ns + run->real_ns);
	else
		json_null(json, key);
}

/* Up to the last that is not empty. */
static void put_buckets(struct json *json, const uint64_t buckets[RECORD_BUCKETS])
{
	size_t count = RECORD_BUCKETS;

	while (count && !buckets[count - 1])
		count--;
	json_open(json, "histogram", '[');
	for (size_t i = 0; i < count; i++)
		json_number(json, NULL, buckets[i]);
	json_close(json, ']');
}

static void put_cpu(struct json *json, const struct noise_run *run, const struct noise_cpu *cpu)
{
	uint64_t buckets[RECORD_BUCKETS];

	for (size_t i = 0; i < RECORD_BUCKETS; i++)
		buckets[i] = cpu->state.buckets[i];
	json_open(json, NULL, '{');
	json_integer(json, "cpu", cpu->cpu);
	json_number(json, "count", cpu->state.losses);
	json_number(json, "total_ns", cpu->state.lost_ns);
	json_number(json, "worst_ns", cpu->state.worst_ns);
	put_time(json, "worst_at", run, cpu->state.worst_at_ns);
	put_buckets(json, buckets);
	json_close(json, '}');
}

static void put_sum(struct json *json, const struct noise_run *run, const struct sum *sum)
{
	json_open(json, NULL, '{');
	json_integer(json, "cpu", sum->cpu);
	json_string(json, "kind", cause_names[sum->kind]);
	json_string(json, "who", sum->who);
	json_number(json, "count", sum->count);
	json_number(json, "total_ns", sum->total_ns);
	json_number(json, "worst_ns", sum->worst_ns);
	put_time(json, "worst_at", run, sum->worst_at_ns);
	put_buckets(json, sum->buckets);
	json_string(json, "sender", sum->sender);
	json_number_if(json, "sender_cpu", sum->sender_cpu >= 0, (uint64_t)sum->sender_cpu);
	json_open(json, "stack", '[');
	for (size_t i = 0; i < sum->nr_stack; i++)
		json_string(json, NULL, sum->stack[i]);
	json_close(json, ']');
	json_close(json, '}');
}

/* As isolator.measure has it. */
static void put_attribution(struct json *json, const struct noise_run *run,
			    const struct noise_total *total)
{
	json_open(json, "attribution", '{');
	json_string(json, "source", "bpf");
	json_number(json, "threshold_ns", run->options->threshold_ns);
	json_number(json, "seen", total->above);
	json_number(json, "looked", run->looked);
	json_number(json, "lost", total->dropped);
	json_null(json, "overhead");
	ranking_json(json, &run->ranking);
	json_close(json, '}');
}

static void put_cost(struct json *json, const struct noise_run *run,
		     const struct noise_total *total)
{
	json_open(json, "cost", '{');
	json_number(json, "events", total->events);
	json_number_if(json, "event_ns", total->event_ns, total->event_ns);
	json_real(json, "percent", 100 * total->share);
	json_number_if(json, "runs", run->cost.known, run->cost.runs);
	json_number_if(json, "run_ns", run->cost.known, run->cost.run_ns);
	json_real(json, "run_seconds", (double)run->cost_ns / NS);
	json_close(json, '}');
}

static void put_account(struct json *json, const struct noise_run *run,
			const struct noise_total *total)
{
	json_open(json, "account", '{');
	json_bool(json, "complete", noise_complete(run));
	json_number(json, "uncounted", total->uncounted);
	json_number(json, "missed", run->cost.missed);
	json_number(json, "crowded", total->crowded);
	json_number(json, "unmatched", total->unmatched);
	json_number(json, "unseen", total->unseen);
	json_number(json, "without_sender", run->cost.without_sender);
	json_number(json, "without_stack", run->cost.without_stack);
	json_close(json, '}');
}

static void put_verdict(struct json *json, const struct noise_run *run)
{
	static const char *const verdicts[] = { "passed", "error", "exceeded", "inconclusive" };
	int code = noise_exit(run);

	json_string(json, "verdict", run->running ? "running" : verdicts[code]);
	json_number_if(json, "exit", !run->running, (uint64_t)code);
	json_number_if(json, "limit_ns", run->options->limit_ns, run->options->limit_ns);
}

void noise_json(FILE *out, const struct noise_run *run)
{
	struct noise_total total = noise_total(run);
	struct json json = { .out = out };
	struct utsname kernel;

	json_document(&json, "isolator.bpf-noise", SCHEMA_VERSION);
	json_string(&json, "kernel", uname(&kernel) ? "" : kernel.release);
	put_verdict(&json, run);
	put_time(&json, "began", run, run->began_ns);
	json_real(&json, "seconds", (double)(run->ended_ns - run->began_ns) / NS);
	json_bool(&json, "early", run->early);
	json_cpus(&json, "cpus", &run->options->cpus);
	json_number_if(&json, "of", run->options->of, run->options->of);
	json_string(&json, "notes", run->notes);
	put_account(&json, run, &total);
	put_cost(&json, run, &total);
	json_open(&json, "losses", '[');
	for (size_t i = 0; i < run->nr_cpus; i++)
		put_cpu(&json, run, &run->cpus[i]);
	json_close(&json, ']');
	json_open(&json, "sources", '[');
	for (size_t i = 0; i < run->sums.count; i++)
		put_sum(&json, run, &run->sums.list[i]);
	json_close(&json, ']');
	put_attribution(&json, run, &total);
	json_document_end(&json);
}

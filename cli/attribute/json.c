// SPDX-License-Identifier: GPL-2.0-or-later
#include "attribute/parts.h"

static void put_overhead(struct json *json, const struct attribute_overhead *overhead)
{
	if (!overhead) {
		json_null(json, "overhead");
		return;
	}
	json_open(json, "overhead", '{');
	json_number(json, "on_p50_ns", overhead->on_p50_ns);
	json_number(json, "off_p50_ns", overhead->off_p50_ns);
	json_number(json, "on_p99_ns", overhead->on_p99_ns);
	json_number(json, "off_p99_ns", overhead->off_p99_ns);
	json_close(json, '}');
}

static void put_total(struct json *json, const struct cause_total *total)
{
	json_open(json, NULL, '{');
	json_string(json, "kind", cause_names[total->kind]);
	json_string(json, "who", total->who);
	json_number(json, "count", total->count);
	json_number(json, "total_ns", total->total_ns);
	json_number(json, "worst_ns", total->worst_ns);
	json_time(json, "worst_at", total->worst_at_ns);
	json_close(json, '}');
}

static void put_cause(struct json *json, const struct cause *cause)
{
	json_open(json, NULL, '{');
	json_string(json, "kind", cause_names[cause->kind]);
	json_string(json, "who", cause->who);
	json_number_if(json, "pid", cause->pid >= 0, (uint64_t)cause->pid);
	json_string(json, "sender", cause->sender);
	json_number_if(json, "sender_cpu", cause->sender_cpu >= 0, (uint64_t)cause->sender_cpu);
	json_number(json, "ns", cause->ns);
	json_open(json, "stack", '[');
	for (size_t i = 0; i < cause->nr_stack; i++)
		json_string(json, NULL, cause->stack[i]);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_finding(struct json *json, const struct finding *finding)
{
	json_open(json, NULL, '{');
	json_integer(json, "cpu", finding->outlier.cpu);
	json_number(json, "trigger", finding->outlier.trigger);
	json_number(json, "value_ns", finding->outlier.value_ns);
	json_time(json, "at", finding->at_ns);
	json_number(json, "explained_ns", finding->explained_ns);
	json_open(json, "causes", '[');
	for (size_t i = 0; i < finding->count; i++)
		put_cause(json, &finding->causes[i]);
	json_close(json, ']');
	json_close(json, '}');
}

void attribute_json(struct json *json, const char *key, struct attribute *attribute,
		    const struct attribute_overhead *overhead)
{
	const struct ranking *ranking = &attribute->ranking;

	ranking_sort(&attribute->ranking);
	json_open(json, key, '{');
	json_string(json, "source", "tracefs");
	json_number(json, "threshold_ns", attribute->options.threshold_ns);
	json_number(json, "seen", attribute->seen);
	json_number(json, "looked", attribute->looked);
	json_number(json, "lost", attribute->lost);
	put_overhead(json, overhead);
	json_open(json, "causes", '[');
	for (size_t i = 0; i < ranking->count; i++)
		put_total(json, &ranking->totals[i]);
	json_close(json, ']');
	json_open(json, "outliers", '[');
	for (size_t i = 0; i < ranking->nr_findings; i++)
		put_finding(json, ranking->findings[i]);
	json_close(json, ']');
	json_close(json, '}');
}

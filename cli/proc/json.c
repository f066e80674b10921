// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/utsname.h>

#include "base/cpulist.h"
#include "proc/json.h"

#define SCHEMA_VERSION 1

static void put_list(struct json *json, const char *key, const char *text)
{
	struct cpulist list = { 0 };

	/* An empty one is no list, and every list that was parsed is one. */
	cpulist_parse(text, &list);
	json_cpus(json, key, &list);
}

void proc_json_head(struct json *json, const char *schema)
{
	struct utsname kernel = { 0 };

	uname(&kernel);
	json_document(json, schema, SCHEMA_VERSION);
	json_string(json, "kernel", kernel.release);
}

void proc_json_open(struct json *json, const char *schema, const struct proc_sample *sample)
{
	static const char *const names[] = {
		[NAMES_SEEN] = "seen",
		[NAMES_DENIED] = "denied",
	};

	proc_json_head(json, schema);
	json_number(json, "monotonic_ns", sample->taken_ns);
	put_list(json, "allowed", sample->allowed);
	put_list(json, "isolated", sample->isolated);
	json_string(json, "names", names[sample->names]);
	json_bool(json, "consistent", sample->consistent);
}

void proc_json_cpu(struct json *json, const struct proc_cpu *cpu)
{
	json_open(json, NULL, '{');
	json_integer(json, "cpu", cpu->cpu);
	json_string(json, "state", cpu->isolated ? "isolated" : "ended");
	json_string(json, "end", cpu->end);
}

void proc_json_deadline(struct json *json, uint64_t deadline_ns)
{
	if (deadline_ns == PROC_NEVER)
		json_string(json, "deadline_ns", "never");
	else
		json_number(json, "deadline_ns", deadline_ns);
}

void proc_json_status(struct json *json, const struct proc_cpu *cpu)
{
	if (!json_open_if(json, "status", '{', cpu->isolated))
		return;
	json_number(json, "mask", cpu->mask);
	json_number(json, "got", cpu->got);
	json_number(json, "depth", cpu->depth);
	proc_json_deadline(json, cpu->deadline_ns);
	json_number(json, "spin_ns", cpu->spin_ns);
	json_number(json, "yield_ns", cpu->yield_ns);
	json_number(json, "batch_ns", cpu->batch_ns);
	json_bool(json, "auto_tick", cpu->auto_tick);
	json_number_if(json, "quarantine_bytes", cpu->quarantine == 1, cpu->quarantine_bytes);
	json_integer(json, "owner", cpu->owner);
	if (cpu->user != PROC_UNSAID)
		json_bool(json, "user", cpu->user);
	else
		json_null(json, "user");
	json_number(json, "started_ns", cpu->started_ns);
	json_close(json, '}');
}

void proc_json_counts(struct json *json, const char *key, const struct counts *counts)
{
	json_open(json, key, '{');
	for (int i = 0; i < COUNTS; i++)
		json_number(json, count_names[i], counts->n[i]);
	json_close(json, '}');
}

void proc_json_stack(struct json *json, const struct proc_stack *stack)
{
	json_open(json, "stack", '[');
	for (size_t i = 0; i < stack->count; i++)
		json_string(json, NULL, stack->lines[i]);
	json_close(json, ']');
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/json.h"
#include "status/state.h"

static void put_rates(struct json *json, const struct state_view *view,
		      const struct proc_cpu *cpu)
{
	const struct proc_cpu *before = state_before(view, cpu);
	double seconds = state_seconds(view);
	struct counts since;

	if (!json_open_if(json, "rates", '{', before))
		return;
	counts_since(&cpu->total, &before->total, &since);
	for (int i = 0; i < COUNTS; i++)
		json_real(json, count_names[i], (double)since.n[i] / seconds);
	json_close(json, '}');
}

static void put_longest(struct json *json, const struct proc_cpu *cpu)
{
	const struct proc_sender *sender = state_longest(cpu);
	const struct proc_kind *kind = proc_longest(cpu);

	json_open(json, "kinds", '{');
	for (size_t i = 0; i < cpu->nr_kinds; i++)
		json_number(json, cpu->kinds[i].name, cpu->kinds[i].longest_ns);
	json_close(json, '}');
	if (!json_open_if(json, "longest", '{', kind))
		return;
	json_number(json, "ns", kind->longest_ns);
	json_string(json, "kind", kind->name);
	json_string(json, "callback", sender ? sender->callback : NULL);
	json_string(json, "comm", sender ? sender->comm : NULL);
	json_close(json, '}');
}

static void put_names(struct json *json, const struct proc_sample *sample,
		      const struct proc_cpu *cpu)
{
	if (sample->names != NAMES_SEEN) {
		json_null(json, "callbacks");
		json_null(json, "senders");
		return;
	}
	json_open(json, "callbacks", '[');
	for (size_t i = 0; i < cpu->nr_callbacks; i++) {
		json_open(json, NULL, '{');
		json_string(json, "callback", cpu->callbacks[i].name);
		proc_json_counts(json, "counts", &cpu->callbacks[i].counts);
		json_number(json, "longest_ns", cpu->callbacks[i].longest_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "senders", '[');
	for (size_t i = 0; i < cpu->nr_senders; i++) {
		json_open(json, NULL, '{');
		json_string(json, "callback", cpu->senders[i].callback);
		json_string(json, "kind", cpu->senders[i].kind);
		json_string(json, "comm", cpu->senders[i].comm);
		proc_json_counts(json, "counts", &cpu->senders[i].counts);
		json_number(json, "longest_ns", cpu->senders[i].longest_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_limits(struct json *json, const struct limits *limits)
{
	if (!json_open_if(json, "limits", '{', limits->text))
		return;
	json_number(json, "deadline_ns", limits->deadline_ns);
	json_number(json, "spin_ns", limits->spin_ns);
	json_string(json, "perf", limits->perf);
	json_string(json, "msr", limits->msr);
	json_close(json, '}');
}

static void put_holder(struct json *json, const struct holder *holder)
{
	if (!json_open_if(json, "holder", '{', holder))
		return;
	json_string(json, "name", holder->name);
	json_integer(json, "pid", holder->pid);
	json_integer(json, "tid", holder->tid);
	json_close(json, '}');
}

void state_json(FILE *out, const struct state_view *view)
{
	const struct state *now = view->now;
	struct json json = { .out = out };

	proc_json_open(&json, "isolator.status", &now->sample);
	put_limits(&json, &now->limits);
	if (view->before)
		json_real(&json, "seconds", state_seconds(view));
	else
		json_null(&json, "seconds");
	json_open(&json, "cpus", '[');
	for (size_t i = 0; i < now->sample.nr_cpus; i++) {
		const struct proc_cpu *cpu = &now->sample.cpus[i];

		if (!cpulist_has(view->only, cpu->cpu))
			continue;
		proc_json_cpu(&json, cpu);
		proc_json_status(&json, cpu);
		put_holder(&json, holders_of(&now->holders, cpu));
		proc_json_counts(&json, "totals", &cpu->total);
		json_number(&json, "uncounted_callbacks", cpu->uncounted);
		put_rates(&json, view, cpu);
		put_longest(&json, cpu);
		put_names(&json, &now->sample, cpu);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_document_end(&json);
}

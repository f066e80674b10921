// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/json.h"
#include "interfere/interfere.h"

#define SCHEMA_VERSION 1

static void put_cpu(struct json *json, const struct interfere_view *view,
		    const struct interfere_run *run, size_t index)
{
	const struct load_count *count = &run->cpus[index];

	json_open(json, NULL, '{');
	json_integer(json, "cpu", count->cpu);
	json_number_if(json, "bytes", count->bytes, count->bytes);
	json_number(json, "operations", count->operations);
	json_real(json, "per_second",
		  view->seconds > 0 ? (double)count->operations / view->seconds : 0);
	json_close(json, '}');
}

static void put_interrupts(struct json *json, const struct interfere_run *run)
{
	bool known;

	if (!run->load || cpulist_empty(load_targets(run->load))) {
		json_null(json, "interrupts");
		return;
	}
	known = run->since.lists[LOOK_INTERRUPTS].known;
	json_open(json, "interrupts", '{');
	json_cpus(json, "cpus", load_targets(run->load));
	json_number_if(json, "calls", known, interfere_interrupts(run, "call"));
	json_number_if(json, "reschedules", known, interfere_interrupts(run, "resched"));
	json_number_if(json, "tlb_shootdowns", known, interfere_interrupts(run, "tlb"));
	json_close(json, '}');
}

static void put_run(struct json *json, const struct interfere_view *view,
		    const struct interfere_run *run)
{
	json_open(json, NULL, '{');
	json_string(json, "name", run->name);
	json_string(json, "about", run->type->about);
	json_string(json, "state", interfere_states[run->state]);
	json_string(json, "why", run->why);
	json_string(json, "words", run->load ? load_words(run->load) : NULL);
	json_string(json, "operation", run->type->operation);
	json_open(json, "cpus", '[');
	for (size_t i = 0; run->load && i < load_cpus(run->load); i++)
		put_cpu(json, view, run, i);
	json_close(json, ']');
	put_interrupts(json, run);
	json_close(json, '}');
}

void interfere_json(FILE *out, const struct interfere_view *view)
{
	struct json json = { .out = out };
	const char *verdict;
	int code;

	verdict = interfere_verdict(view, &code);
	json_document(&json, "isolator.interfere", SCHEMA_VERSION);
	json_string(&json, "verdict", verdict);
	json_integer(&json, "exit", code);
	json_cpus(&json, "cpus", view->cpus);
	json_real(&json, "seconds", view->seconds);
	json_bool(&json, "early", view->early);
	json_open(&json, "loads", '[');
	for (size_t i = 0; i < view->count; i++)
		put_run(&json, view, &view->runs[i]);
	json_close(&json, ']');
	json_document_end(&json);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <sys/wait.h>

#include "base/json.h"
#include "run/run.h"

#define SCHEMA_VERSION 1

static void put_head(struct json *json, const struct run *run)
{
	static const char *const policies[] = {
		[RUN_OTHER] = "other", [RUN_FIFO] = "fifo", [RUN_RR] = "rr",
	};
	const struct capture_file *release = run->audited ?
		capture_find(run->audit.capture, "/proc/sys/kernel/osrelease") : NULL;

	json_document(json, "isolator.run", SCHEMA_VERSION);
	json_string(json, "kernel", release ? release->value : NULL);
	json_bool(json, "isolator", run->isolator);
	json_cpus(json, "cpus", &run->cpus);
	json_cpus(json, "rest", &run->rest);
	json_open(json, "program", '[');
	for (char **word = run->argv; *word; word++)
		json_string(json, NULL, *word);
	json_close(json, ']');
	json_string(json, "user", run->user.given ? run->user.name : NULL);
	json_string(json, "policy", policies[run->policy]);
	json_number(json, "priority", run->priority);
}

static void put_settings(struct json *json, const struct run *run)
{
	static const char *const outcomes[] = {
		[OUTCOME_NONE] = "untried",
		[OUTCOME_FIXED] = "set",
		[OUTCOME_REFUSED] = "refused",
		[OUTCOME_IGNORED] = "ignored",
	};

	json_open(json, "settings", '[');
	for (size_t i = 0; i < run->nr_settings; i++) {
		const struct run_setting *setting = &run->settings[i];

		json_open(json, NULL, '{');
		json_string(json, "id", setting->id);
		json_string(json, "path", setting->path);
		json_string(json, "wanted", setting->wanted);
		json_string(json, "before", setting->change.before);
		json_string(json, "now", setting->change.now);
		json_string(json, "outcome", outcomes[setting->change.outcome]);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "missing", '[');
	for (size_t i = 0; i < run->nr_missing; i++) {
		json_open(json, NULL, '{');
		json_string(json, "id", run->missing[i].id);
		json_string(json, "path", run->missing[i].path);
		json_string(json, "why", run->missing[i].why);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "denied", '[');
	for (size_t i = 0; i < run->nr_lacks; i++) {
		json_open(json, NULL, '{');
		json_string(json, "what", run->lacks[i].what);
		json_string(json, "why", run->lacks[i].why);
		json_string(json, "command", run->lacks[i].command);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "partition", '{');
	json_string(json, "path", run->group.path);
	json_string(json, "state", run->group.state);
	json_bool(json, "isolated", run->group.isolated);
	json_close(json, '}');
	json_open(json, "threads", '{');
	json_number(json, "moved", run->threads_moved);
	json_number(json, "refused", run->threads_refused);
	json_close(json, '}');
	json_bool(json, "latency_held", run->latency >= 0);
	json_bool(json, "restored", run->restored);
}

static void put_counts(struct json *json, const char *key, const struct interrupts *counts)
{
	if (!counts->known) {
		json_null(json, key);
		return;
	}
	json_open(json, key, '[');
	for (size_t i = 0; i < counts->count; i++) {
		if (!counts->rows[i].count)
			continue;
		json_open(json, NULL, '{');
		json_string(json, "label", counts->rows[i].label);
		json_string(json, "class", counts->rows[i].class);
		json_string(json, "what", counts->rows[i].what);
		json_number(json, "count", counts->rows[i].count);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_end(struct json *json, const struct run_end *end)
{
	json_integer(json, "status", end->code);
	json_number_if(json, "signal", WIFSIGNALED(end->status), (uint64_t)WTERMSIG(end->status));
	json_real(json, "seconds", (double)end->ns / 1e9);
	put_counts(json, "interrupts", &end->since.lists[LOOK_INTERRUPTS]);
	put_counts(json, "softirqs", &end->since.lists[LOOK_SOFTIRQS]);
	json_open(json, "switches", '{');
	json_integer(json, "voluntary", end->usage.ru_nvcsw);
	json_integer(json, "involuntary", end->usage.ru_nivcsw);
	json_close(json, '}');
	json_open(json, "faults", '{');
	json_integer(json, "minor", end->usage.ru_minflt);
	json_integer(json, "major", end->usage.ru_majflt);
	json_close(json, '}');
}

static void put_remains(struct json *json, const struct run *run)
{
	json_open(json, "remains", '[');
	for (size_t i = 0; run->audited && i < run->audit.count; i++) {
		const struct audit_finding *finding = &run->audit.findings[i];

		if (!run_remains(finding))
			continue;
		json_open(json, NULL, '{');
		json_string(json, "id", finding->check->id);
		json_string(json, "path", finding->path);
		json_string(json, "value", finding->value);
		json_string(json, "why", finding->check->why);
		json_string(json, "fix", finding->fix);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void run_json(FILE *out, const struct run *run, const struct run_end *end)
{
	struct json json = { .out = out };

	put_head(&json, run);
	put_settings(&json, run);
	put_end(&json, end);
	run_isolation_json(&json, run);
	put_remains(&json, run);
	json_document_end(&json);
}

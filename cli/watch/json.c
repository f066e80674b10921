// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "watch/watch.h"

#define SCHEMA_VERSION 1

static void put_guard(struct json *json, const struct interval *interval)
{
	const struct guard *guard = &interval->guard;

	json_open(json, "protected", '{');
	json_cpus(json, "cpus", &guard->cpus);
	json_cpus(json, "unseen", &interval->span.unseen);
	json_open(json, "reasons", '[');
	for (size_t i = 0; i < GUARD_REASONS; i++) {
		if (cpulist_empty(&guard->of[i]))
			continue;
		json_open(json, NULL, '{');
		json_string(json, "reason", guard_reasons[i]);
		json_cpus(json, "cpus", &guard->of[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_string(json, "unclear", guard->unclear);
	json_close(json, '}');
	json_cpus(json, "housekeeping", &interval->router.audit.rest);
}

static void put_limit(struct json *json, const struct interval *interval)
{
	const struct span_cpu *worst = span_worst(&interval->span);
	unsigned int limit = interval->options->limit;

	json_open(json, "limit", '{');
	json_number_if(json, "hits_per_second", limit != WATCH_NO_LIMIT, limit);
	json_string(json, "verdict", span_verdicts[interval_verdict(interval)]);
	json_number_if(json, "worst_cpu", worst, worst ? (uint64_t)worst->cpu : 0);
	json_close(json, '}');
}

static void put_classes(struct json *json, const struct interval *interval, const char *key,
			const uint64_t *counts)
{
	json_open(json, key, '{');
	for (size_t i = 0; i < SPAN_CLASSES; i++)
		if (counts[i] || interval->options->all)
			json_number(json, interrupt_classes[i], counts[i]);
	json_close(json, '}');
}

static void put_cpus(struct json *json, const struct interval *interval)
{
	const struct span *span = &interval->span;

	json_open(json, "cpus", '[');
	for (size_t i = 0; i < span->nr_cpus; i++) {
		const struct span_cpu *cpu = &span->cpus[i];

		json_open(json, NULL, '{');
		json_integer(json, "cpu", cpu->cpu);
		json_bool(json, "protected", cpu->guarded);
		json_number(json, "interrupts", cpu->of[LOOK_INTERRUPTS]);
		json_real(json, "rate", span_rate(span, cpu->of[LOOK_INTERRUPTS]));
		json_number_if(json, "softirqs", span->lists[LOOK_SOFTIRQS].known,
			       cpu->of[LOOK_SOFTIRQS]);
		put_classes(json, interval, "classes", cpu->classes);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_counts(struct json *json, const struct span *span, uint64_t hits, uint64_t came)
{
	json_number(json, "hits", hits);
	json_real(json, "hits_per_second", span_rate(span, hits));
	json_number(json, "count", came);
	json_real(json, "rate", span_rate(span, came));
}

static void put_route(struct json *json, const struct route *route)
{
	if (!json_open_if(json, "route", '{', route->device))
		return;
	json_string(json, "asked", route->asked);
	json_string(json, "goes", route->goes);
	json_string(json, "should", route->should);
	json_string(json, "choice", route->unread ? NULL : route_choices[route->choice]);
	json_string(json, "unread", route->unread);
	if (json_open_if(json, "thread", '{', route->thread.number)) {
		json_string(json, "tid", route->thread.tid);
		json_string(json, "name", route->thread.name);
		json_string(json, "cpus", route->thread.cpus);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void put_advice(struct json *json, const struct route *route)
{
	static const char *const remedies[] = {
		[REMEDY_NONE] = "advice",
		[REMEDY_WRITE] = "write",
		[REMEDY_COMMAND] = "command",
		[REMEDY_BOOT] = "boot",
	};

	if (!json_open_if(json, "advice", '{', route->why))
		return;
	json_string(json, "remedy", remedies[route->remedy]);
	json_string(json, "why", route->why);
	json_string(json, "fix", route->fix);
	json_string(json, "undo", route->undo);
	json_close(json, '}');
}

static void put_row(struct json *json, const struct interval *interval, enum look_list which,
		    const struct span_row *row)
{
	static const char *const begins[] = {
		[INTERRUPT_GOES_ON] = "before", [INTERRUPT_APPEARED] = "appeared",
		[INTERRUPT_ANEW] = "restarted",
	};
	const struct interrupts *now = interval->span.lists[which].now;

	json_open(json, NULL, '{');
	json_string(json, "label", row->row->label);
	if (which == LOOK_INTERRUPTS) {
		json_string(json, "class", row->row->class);
		json_string(json, "what", row->row->what);
	}
	json_string(json, "began", begins[row->row->begin]);
	put_counts(json, &interval->span, row->hits, row->came);
	json_open(json, "cpus", '[');
	for (size_t i = 0; row->came && i < now->columns; i++) {
		if (!row->row->of[i])
			continue;
		json_open(json, NULL, '{');
		json_integer(json, "cpu", now->cpus[i]);
		json_number(json, "count", row->row->of[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
	if (which == LOOK_INTERRUPTS)
		put_route(json, row->route);
	put_advice(json, row->route);
	json_close(json, '}');
}

static void put_rows(struct json *json, const struct interval *interval, const char *key,
		     enum look_list which)
{
	const struct span_list *list = &interval->span.lists[which];

	if (!json_open_if(json, key, '[', list->known))
		return;
	for (size_t i = 0; i < list->count; i++)
		if (interval_shows(interval, &list->rows[i]))
			put_row(json, interval, which, &list->rows[i]);
	json_close(json, ']');
}

static void put_unread(struct json *json, const struct interval *interval)
{
	const struct look *now = interval->span.now;

	json_open(json, "unread", '[');
	if (now->errors[LOOK_SOFTIRQS]) {
		json_open(json, NULL, '{');
		json_string(json, "path", SOFTIRQS_PATH);
		json_string(json, "why", strerror(now->errors[LOOK_SOFTIRQS]));
		json_close(json, '}');
	}
	for (size_t i = 0; i < interval->capture.count; i++) {
		const struct capture_file *file = interval->capture.files[i];

		if (!interval_unread(file))
			continue;
		json_open(json, NULL, '{');
		json_string(json, "path", file->path);
		json_string(json, "why", strerror(file->error));
		json_close(json, '}');
	}
	json_close(json, ']');
}

void watch_json(FILE *out, struct interval *interval)
{
	const struct capture_file *release = capture_read(&interval->capture,
							  "/proc/sys/kernel/osrelease");
	const struct span *span = &interval->span;
	struct json json = { .out = out };

	json_document(&json, "isolator.watch", SCHEMA_VERSION);
	json_string(&json, "kernel", release->error ? NULL : release->value);
	json_string(&json, "root", interval->options->root);
	json_number(&json, "monotonic_ns", span->now->taken_ns);
	json_real(&json, "seconds", span->seconds);
	put_guard(&json, interval);
	put_limit(&json, interval);
	put_counts(&json, span, span->lists[LOOK_INTERRUPTS].hits,
		   span->lists[LOOK_INTERRUPTS].came);
	put_classes(&json, interval, "classes", span->classes);
	put_classes(&json, interval, "class_hits", span->class_hits);
	put_cpus(&json, interval);
	put_rows(&json, interval, "interrupts", LOOK_INTERRUPTS);
	put_rows(&json, interval, "softirqs", LOOK_SOFTIRQS);
	json_cpus(&json, "came_online", &span->since.came);
	json_cpus(&json, "went_offline", &span->since.left);
	json_open(&json, "gone", '[');
	for (size_t i = 0; i < span->since.nr_gone; i++)
		json_string(&json, NULL, span->since.gone[i]);
	json_close(&json, ']');
	put_unread(&json, interval);
	json_bool(&json, "irqbalance", interval->balancer);
	json_document_end(&json);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The machine's part of a tracer: its settings, and an instance of our own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "journal/change.h"
#include "journal/undo.h"
#include "machine/instance.h"
#include "measure/tracer.h"

#define AVAILABLE INSTANCE_TRACEFS "/available_tracers"
#define RING_KIB "1024"		/* for each CPU: seconds of events, and it is read each 20 ms */
#define NAME "isolator measure"

/* There is one run in a process. */
static struct {
	const char *root;
	char *instance;
	struct journal journal;
} armed;

int tracer_pipe(int cpu)
{
	return instance_pipe(armed.root, armed.instance, cpu);
}

void tracer_free(struct tracer_options *options)
{
	for (size_t i = 0; i < TRACER_SETTINGS; i++)
		free(options->settings[i].wanted);
}

/* Why there is no such tracer; NULL: there is. */
static char *missing(const struct tracer_options *options, const char *root)
{
	char *text, *why = NULL;

	if (instance_reach(root, AVAILABLE, &why))
		return why;
	text = setting_read(root, AVAILABLE);
	if (!text && (errno == EACCES || errno == EPERM))
		why = text_format("%s: %s: tracers are for root", AVAILABLE, strerror(errno));
	else if (!text)
		why = text_format("%s: %s: has this kernel tracers (CONFIG_FTRACE)?", AVAILABLE,
				  strerror(errno));
	else if (!text_has_word(text, options->tracer))
		why = text_format("this kernel is built without the tracer %s (%s); Debian's -rt kernels have it",
				  options->tracer, options->config);
	free(text);
	return why;
}

/* The first that the kernel does not know, but has to; NULL: there is none. */
static char *missing_setting(const struct tracer_options *options, const char *root)
{
	for (const struct tracer_setting *setting = options->settings; setting->path; setting++) {
		char *text = setting_read(root, setting->path);
		bool there = text || errno != ENOENT;

		free(text);
		if (setting->must && !there)
			return text_format("%s does not exist: this kernel's tracer %s is older",
					   setting->path, options->tracer);
	}
	return NULL;
}

static void tell(struct result *result, const struct tracer_setting *setting,
		 const struct change *change)
{
	bool held = change->outcome == OUTCOME_FIXED;

	asked_add(&result->settings, setting->name, setting->wanted,
		  change->outcome == OUTCOME_REFUSED ? NULL : change->now, held, setting->must,
		  held ? NULL : "%s: %s", setting->path,
		  change->outcome == OUTCOME_REFUSED ? change->now : "it shows another value");
}

/* 0; 1: it has to and does not hold; -1, said why. */
static int set(const struct tracer_setting *setting, struct result *result)
{
	struct change change = { .path = setting->path, .kind = setting->kind,
				 .wanted = setting->wanted };
	bool broken;

	if (change_apply(&change, &armed.journal))
		return -1;
	if (change.now)
		change.now[strcspn(change.now, "\n")] = '\0';
	tell(result, setting, &change);
	broken = setting->must && change.outcome != OUTCOME_FIXED;
	change_free(&change);
	return broken;
}

/*
 * The same of all.  The kernel takes some only when others are set, as no width that is
 * larger than its window: what was not taken is tried once more behind these.
 */
static int set_all(const struct tracer_options *options, struct result *result)
{
	const struct tracer_setting *settings = options->settings;
	int states[TRACER_SETTINGS] = { 0 }, broken = 0;

	for (int round = 0; round < 2; round++) {
		broken = 0;
		for (size_t i = 0; settings[i].path; i++) {
			if (!round || states[i])
				states[i] = set(&settings[i], result);
			if (states[i] < 0)
				return -1;
			broken |= states[i];
		}
	}
	return broken;
}

/* Does each still hold?  Another program may have set it since. */
static void check_all(const struct tracer_options *options, struct result *result)
{
	for (const struct tracer_setting *setting = options->settings; setting->path; setting++) {
		char *now = setting_read(armed.root, setting->path);

		if (now && setting->must && !setting_holds(setting->kind, now, setting->wanted)) {
			now[strcspn(now, "\n")] = '\0';
			asked_add(&result->settings, setting->name, setting->wanted, now, false,
				  true, "%s: another program has changed it during this run",
				  setting->path);
		}
		free(now);
	}
}

/* Writes a file of the instance; 0 or the errno. */
static int put(const char *name, const char *value)
{
	char *path = text_format("%s/%s", armed.instance, name);
	int error = setting_write(armed.root, path, value);

	free(path);
	return error;
}

/* 0, or -1, said why. */
static int start(const struct tracer_options *options, const struct cpulist *cpus)
{
	char *mask = cpulist_mask(cpus);
	const struct {
		const char *name, *value;
	} files[] = {
		/* It is off until all is set; lateness is told by CLOCK_MONOTONIC. */
		{ "tracing_on", "0" }, { "trace_clock", "mono" }, { "buffer_size_kb", RING_KIB },
		{ "tracing_cpumask", mask }, { "set_event", options->events },
		{ "current_tracer", options->tracer }, { "tracing_on", "1" },
	};
	int error = instance_make(armed.root, armed.instance);

	if (error)
		error_say("%s: %s: no instance of the tracer can be made%s", armed.instance,
			  strerror(error), change_hint(armed.instance, error));
	for (size_t i = 0; i < ARRAY_SIZE(files) && !error; i++) {
		if (!files[i].value)
			continue;
		error = put(files[i].name, files[i].value);
		if (error)
			error_say("%s/%s: %s: it does not take \"%s\"%s", armed.instance,
				  files[i].name, strerror(error), files[i].value,
				  error == EBUSY ? ": another program has a tracer of this kind: end that first (rtla, or cat current_tracer of each instance)" :
				  change_hint(armed.instance, error));
	}
	free(mask);
	return error ? -1 : 0;
}

int tracer_arm(const void *data, const struct cpulist *cpus, const char *root,
	       struct result *result)
{
	const struct tracer_options *options = data;
	/* It takes no CPU from anyone: no run is in its way. */
	const struct cpulist none = { .given = true };
	const struct journal_owner owner = { .pid = getpid(), .cpus = &none, .program = NAME };
	char *why = missing(options, root);
	int error;

	why = why ? why : missing_setting(options, root);
	if (why) {
		result->skipped = result->reason = why;
		return 1;
	}
	armed.root = root;
	/* The kernel has no timerlat beside an osnoise that was left, nor the other way round. */
	if (!undo_runs(root) || journal_open(&armed.journal, root, &owner))
		return -1;
	armed.instance = instance_path(getpid());
	error = set_all(options, result);
	/* Noted last: it is ended first. */
	if (!error)
		error = journal_note(&armed.journal, JOURNAL_INSTANCE, armed.instance, "-", "-") ||
			start(options, cpus) ? -1 : 0;
	journal_settle(&armed.journal);
	if (error && !tracer_disarm(result, data))
		error = -1;
	return error;
}

bool tracer_disarm(struct result *result, const void *options)
{
	bool restored;

	if (!result->skipped)
		check_all(options, result);
	/* The loops and timers end before their settings change. */
	put("tracing_on", "0");
	put("current_tracer", "nop");
	free(armed.instance);
	journal_close(&armed.journal);
	restored = undo_runs(armed.root);
	if (!restored)
		error_say("something was not restored: fix what the messages above name, then run isolator restore");
	return restored;
}

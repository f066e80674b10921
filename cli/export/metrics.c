// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/root.h"
#include "base/text.h"
#include "base/version.h"
#include "base/wait.h"
#include "export/cpu_metrics.h"
#include "export/crowd_metrics.h"
#include "export/metrics.h"
#include "proc/proc.h"

/* Is @path there?  Also one that this user may not read. */
static bool there(const char *root, const char *path)
{
	int file = root_open(root, path, O_PATH);

	if (file < 0)
		return errno != ENOENT && errno != ENOTDIR;
	close(file);
	return true;
}

int metrics_available(const struct metrics_wish *wish)
{
	if (wish->directory || there(wish->root, PROC_DIRECTORY "/status"))
		return 1;
	if (there(wish->root, "/proc/version"))
		return 0;
	error_say("there is no /proc/version, which tells whether the kernel has Isolator: mount /proc");
	return -1;
}

static void put_machine(struct exposition *to, bool available)
{
	struct utsname kernel = { 0 };
	struct timespec now;

	uname(&kernel);
	clock_gettime(CLOCK_REALTIME, &now);
	exposition_family(to, EXPOSITION_INFO, NULL, "The command that exports this, and the kernel.",
			  "isolator_build");
	exposition_sample(to);
	exposition_label(to, "version", ISOLATOR_VERSION);
	exposition_label(to, "kernel", kernel.release);
	exposition_label(to, "machine", kernel.machine);
	exposition_number(to, 1);
	exposition_family(to, EXPOSITION_GAUGE, "seconds", "When all of this was read, since 1970.",
			  "isolator_sample_timestamp_seconds");
	exposition_sample(to);
	exposition_ns(to, (uint64_t)now.tv_sec * WAIT_SECOND + (uint64_t)now.tv_nsec);
	exposition_family(to, EXPOSITION_GAUGE, NULL,
			  "1: the running kernel has Isolator; 0: it has none.",
			  "isolator_available");
	exposition_sample(to);
	exposition_number(to, available);
}

static void put_limits(struct exposition *to, const struct limits *limits)
{
	if (!limits->text)
		return;
	exposition_family(to, EXPOSITION_GAUGE, "seconds",
			  "The longest deadline that a start may ask for.",
			  "isolator_limit_deadline_seconds");
	exposition_sample(to);
	exposition_ns(to, limits->deadline_ns);
	exposition_family(to, EXPOSITION_GAUGE, "seconds",
			  "The longest that a start may let a sender spin.",
			  "isolator_limit_spin_seconds");
	exposition_sample(to);
	exposition_ns(to, limits->spin_ns);
	exposition_family(to, EXPOSITION_INFO, NULL,
			  "What happens to requests for performance counters and registers there.",
			  "isolator_limits");
	exposition_sample(to);
	exposition_label(to, "perf", limits->perf);
	exposition_label(to, "msr", limits->msr);
	exposition_number(to, 1);
}

static void put_crowds(struct exposition *to, const struct proc_sample *sample, unsigned int top)
{
	struct crowd callbacks = { 0 }, senders = { 0 };

	for (size_t i = 0; i < sample->nr_cpus; i++) {
		crowd_add_callbacks(&callbacks, &sample->cpus[i], top);
		crowd_add_senders(&senders, &sample->cpus[i], top);
	}
	crowd_metrics_callbacks(to, &callbacks);
	crowd_metrics_senders(to, &senders);
	crowd_free(&callbacks);
	crowd_free(&senders);
}

static void put_sample(struct exposition *to, const struct metrics_wish *wish,
		       const struct cpu_metrics *state)
{
	const struct proc_sample *sample = state->sample;
	bool names = wish->names && sample->names == NAMES_SEEN;

	exposition_family(to, EXPOSITION_GAUGE, NULL,
			  "1: the names of senders and callbacks are exported; 0: this user may not see them, or --no-names leaves them out.",
			  "isolator_names_seen");
	exposition_sample(to);
	exposition_number(to, names);
	exposition_family(to, EXPOSITION_GAUGE, NULL,
			  "1: the files agreed with each other; 0: requests came while they were read.",
			  "isolator_sample_consistent");
	exposition_sample(to);
	exposition_number(to, sample->consistent);
	put_limits(to, state->limits);
	cpu_metrics_put(to, state);
	if (names)
		put_crowds(to, sample, wish->top);
}

/* 0, or -1, said why. */
static int put_available(struct exposition *to, const struct metrics_wish *wish)
{
	char *directory = wish->directory ? text_format("%s", wish->directory) :
		root_live(wish->root) ? text_format("%s", PROC_DIRECTORY) :
		text_format("%s%s", wish->root, PROC_DIRECTORY);
	struct proc_sample sample;
	struct holders holders = { 0 };
	struct limits limits;
	struct cpu_metrics state = {
		.sample = &sample,
		.limits = &limits,
		.holders = &holders,
		.names = wish->names,
	};
	int error = proc_read(directory, false, &sample);

	if (!error) {
		error = limits_read(directory, &limits);
		if (error)
			proc_free(&sample);
	}
	free(directory);
	if (error)
		return -1;
	holders_find(&holders, wish->root, &sample);
	put_machine(to, true);
	put_sample(to, wish, &state);
	holders_free(&holders);
	limits_free(&limits);
	proc_free(&sample);
	return 0;
}

int metrics_text(const struct metrics_wish *wish, char **text, size_t *size)
{
	struct exposition to = { .out = text_open(text, size), .format = EXPOSITION_PROMETHEUS };
	int available = metrics_available(wish), error = available < 0 ? -1 : 0;

	if (available > 0)
		error = put_available(&to, wish);
	else if (!available)
		put_machine(&to, false);
	exposition_end(&to);
	if (fclose(to.out))
		error_no_memory();
	if (!error)
		return 0;
	free(*text);
	*text = NULL;
	return -1;
}

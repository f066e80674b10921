// SPDX-License-Identifier: GPL-2.0-or-later
/* All checks, one after another, for the CPUs that are meant. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "machine/online.h"

static const struct audit_group *const groups[] = {
	&audit_machine, &audit_boot, &audit_timer, &audit_power, &audit_irq, &audit_sched,
	&audit_memory, &audit_trace,
};

/* The CPUs of @text that are online; false: there are none. */
static bool take(struct audit *audit, const char *text, const char *chosen)
{
	struct cpulist offline;

	if (!text || !cpulist_read(text, &audit->cpus))
		return false;
	offline = audit->cpus;
	cpulist_minus(&offline, &audit->online);
	cpulist_minus(&audit->cpus, &offline);
	audit->chosen = chosen;
	return !cpulist_empty(&audit->cpus);
}

/* The CPUs that the machine is set up for; all but the first if for none. */
static void choose(struct audit *audit)
{
	static const struct {
		const char *path, *chosen;
	} places[] = {
		{ "/proc/isolator/cpus", "isolator" },
		{ "/sys/devices/system/cpu/nohz_full", "nohz_full" },
		{ "/sys/devices/system/cpu/isolated", "isolated" },
	};
	struct cpulist first = { .given = true };

	if (take(audit, audit->capture->cpus, "capture"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (take(audit, capture_read(audit->capture, places[i].path)->value,
			 places[i].chosen))
			return;
	audit->chosen = "others";
	audit->cpus = audit->online;
	cpulist_add(&first, cpulist_next(&audit->online, -1));
	cpulist_minus(&audit->cpus, &first);
	if (cpulist_empty(&audit->cpus))
		audit->cpus = audit->online;
}

static int no_cpus(const struct audit *audit, const struct capture_file *online)
{
	const char *root = audit->capture->root;

	error_say("%s%s: %s: without it nothing can be judged%s", strcmp(root, "/") ? root : "",
		  ONLINE_PATH, online->error ? strerror(online->error) : "it is not a list of CPUs",
		  strcmp(root, "/") ? "; is it a capture of a machine?" : "; mount /sys");
	return 1;
}

static void run_check(struct audit *audit, const struct audit_check *check)
{
	audit->check = check;
	audit->read = audit->unread = 0;
	check->run(audit);
	if (audit->read)
		audit->judged++;
	else if (audit->unread)
		audit->unreadable++;
	else
		audit->absent++;
}

/* What was not read to the end, all else in its order. */
static void sort(struct audit *audit)
{
	struct audit_finding *sorted = NULL;
	size_t count = 0;

	for (int unread = 0; unread < 2; unread++)
		for (size_t i = 0; i < audit->count; i++)
			if (audit_is_unread(&audit->findings[i]) == unread)
				*ARRAY_ADD(sorted, count) = audit->findings[i];
	free(audit->findings);
	audit->findings = sorted;
}

int audit_run(struct audit *audit, struct capture *capture, const struct cpulist *cpus,
	      const struct cpulist *taken)
{
	const struct capture_file *online = capture_read(capture, ONLINE_PATH);

	*audit = (struct audit){ .capture = capture };
	if (online->error || !cpulist_read(online->value, &audit->online) ||
	    cpulist_empty(&audit->online))
		return no_cpus(audit, online);
	if (!cpus->given) {
		choose(audit);
	} else if (online_check("cpu", cpus, &audit->online)) {
		return -1;
	} else {
		audit->cpus = *cpus;
		audit->chosen = "option";
	}
	audit->rest = audit->online;
	cpulist_minus(&audit->rest, &audit->cpus);
	if (taken)
		cpulist_minus(&audit->rest, taken);
	audit->isolator = capture_read(capture, "/proc/isolator/status")->error != ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		audit->group = groups[i];
		for (const struct audit_check *check = groups[i]->checks; check->id; check++)
			run_check(audit, check);
	}
	sort(audit);
	free(capture->cpus);
	capture->cpus = cpulist_text(&audit->cpus);
	return 0;
}

void audit_free(struct audit *audit)
{
	for (size_t i = 0; i < audit->count; i++) {
		struct audit_finding *finding = &audit->findings[i];

		free(finding->path);
		free(finding->value);
		free(finding->fix);
		free(finding->undo);
		free(finding->wanted);
		free(finding->parameter);
		free(finding->now);
	}
	free(audit->findings);
}

size_t audit_open(const struct audit *audit, enum audit_severity least)
{
	size_t open = 0;

	for (size_t i = 0; i < audit->count; i++)
		open += audit->findings[i].severity >= least &&
			audit->findings[i].outcome != OUTCOME_FIXED;
	return open;
}

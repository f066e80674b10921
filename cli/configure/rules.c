// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"
#include "configure/rules.h"
#include "proc/limit.h"
#include "proc/proc.h"

#define CPUS_PATH PROC_DIRECTORY "/cpus"
#define LIMITS_PATH PROC_DIRECTORY "/limits"
#define SECOND 1000000000ULL

const char *const rule_names[RULES] = {
	[RULE_DEADLINE] = "deadline",
	[RULE_SPIN] = "spin",
	[RULE_PERF] = "perf",
	[RULE_MSR] = "msr",
	[RULE_CPUS] = "cpus",
};

void rules_default(struct rules *rules)
{
	*rules = (struct rules){
		.cpus.given = true,
		.deadline_ns = SECOND,
		.spin_ns = SECOND / 10,
	};
}

char *rules_shown(const char *root, const char *path)
{
	char *text = setting_read(root, path), *trimmed;

	if (!text)
		return NULL;
	trimmed = text_trim(text);
	free(text);
	return trimmed;
}

int rules_kernel(struct rules *rules, const char *root)
{
	char *directory = text_format("%s" PROC_DIRECTORY, root_live(root) ? "" : root);
	char *cpus = rules_shown(root, CPUS_PATH);
	struct limits limits;
	int error = 0;

	*rules = (struct rules){ 0 };
	if (!cpus)
		error = error_say(CPUS_PATH ": %s", strerror(errno));
	else if (!cpulist_read(cpus, &rules->cpus))
		error = error_say(CPUS_PATH ": \"%s\" is not a list of CPUs", cpus);
	else if (limits_read(directory, &limits))
		error = -1;
	else if (!limits.text)
		error = error_say(LIMITS_PATH ": %s", strerror(limits.error));
	free(cpus);
	free(directory);
	if (error)
		return -1;
	rules->deadline_ns = limits.deadline_ns;
	rules->spin_ns = limits.spin_ns;
	rules->queue_perf = !strcmp(limits.perf, "queue");
	rules->queue_msr = !strcmp(limits.msr, "queue");
	limits_free(&limits);
	return 0;
}

char *rules_text(const struct rules *rules, enum rule rule)
{
	char *list, *text;

	switch (rule) {
	case RULE_DEADLINE:
		return text_format("%" PRIu64, rules->deadline_ns);
	case RULE_SPIN:
		return text_format("%" PRIu64, rules->spin_ns);
	case RULE_PERF:
		return text_format("%s", rules->queue_perf ? "queue" : "refuse");
	case RULE_MSR:
		return text_format("%s", rules->queue_msr ? "queue" : "refuse");
	default:
		list = cpulist_text(&rules->cpus);
		text = text_format("%s", *list ? list : "none");
		free(list);
		return text;
	}
}

int rules_set(const struct rules *rules, enum rule rule, const char *root)
{
	static const char *const words[RULES] = {
		[RULE_DEADLINE] = "deadline_ns",
		[RULE_SPIN] = "spin_ns",
		[RULE_PERF] = "perf",
		[RULE_MSR] = "msr",
	};
	char *text = rules_text(rules, rule);
	char *value = rule == RULE_CPUS ? cpulist_text(&rules->cpus) :
		text_format("%s %s", words[rule], text);
	int error = setting_write(root, rule == RULE_CPUS ? CPUS_PATH : LIMITS_PATH, value);

	free(value);
	free(text);
	return error;
}

bool rules_same(const struct rules *a, const struct rules *b, enum rule rule)
{
	char *x = rules_text(a, rule), *y = rules_text(b, rule);
	bool same = !strcmp(x, y);

	free(y);
	free(x);
	return same;
}

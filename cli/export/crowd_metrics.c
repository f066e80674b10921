// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/crowd_metrics.h"

const char *const crowd_metrics_about[COUNTS] = {
	[DEFERRED] = "Requests that were deferred: done at once, and by the CPU at its next kernel entry.",
	[EXCLUDED] = "Requests without effect on a CPU in user mode, passed over.",
	[QUEUED] = "Requests that waited for a tick or a kernel entry.",
	[MISSED] = "Requests that an interrupt delivered, as a deadline had passed.",
	[IMMEDIATE] = "Requests that are always delivered at once, and met user mode.",
	[REFUSED] = "Requests that were refused.",
	[PLANNED] = "Requests that a planned interruption delivered.",
};

static void put_labels(struct exposition *to, const struct crowd_member *member, bool senders)
{
	exposition_sample(to);
	exposition_label_number(to, "cpu", member->cpu);
	exposition_label(to, "callback", member->callback);
	if (!senders)
		return;
	exposition_label(to, "kind", member->kind);
	exposition_label(to, "sender", member->name);
}

static void put(struct exposition *to, const struct crowd *crowd, const char *what, bool senders)
{
	for (int c = 0; c < COUNTS; c++) {
		exposition_family(to, EXPOSITION_COUNTER, NULL, crowd_metrics_about[c],
				  "isolator_%s_%s", what, count_names[c]);
		for (size_t i = 0; i < crowd->count; i++) {
			/* Most ask for one thing only: the rest would be six zeros each. */
			if (!crowd->members[i].counts.n[c])
				continue;
			put_labels(to, &crowd->members[i], senders);
			exposition_number(to, crowd->members[i].counts.n[c]);
		}
	}
	exposition_family(to, EXPOSITION_GAUGE, "seconds", "The longest that one of them waited.",
			  "isolator_%s_longest_wait_seconds", what);
	for (size_t i = 0; i < crowd->count; i++) {
		if (!crowd->members[i].longest_ns)
			continue;
		put_labels(to, &crowd->members[i], senders);
		exposition_ns(to, crowd->members[i].longest_ns);
	}
	/* It falls when one of them becomes one of the worst: a counter may not. */
	exposition_family(to, EXPOSITION_GAUGE, NULL,
			  "Requests of all that have no series of their own.",
			  "isolator_%s_others", what);
	for (size_t i = 0; i < crowd->nr_rests; i++)
		for (int c = 0; c < COUNTS; c++) {
			exposition_sample(to);
			exposition_label_number(to, "cpu", crowd->rests[i].cpu);
			exposition_label(to, "outcome", count_names[c]);
			exposition_number(to, crowd->rests[i].counts.n[c]);
		}
}

void crowd_metrics_callbacks(struct exposition *to, const struct crowd *crowd)
{
	put(to, crowd, "callback", false);
}

void crowd_metrics_senders(struct exposition *to, const struct crowd *crowd)
{
	put(to, crowd, "sender", true);
}

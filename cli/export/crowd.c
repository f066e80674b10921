// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/exposition.h"
#include "export/crowd.h"
#include "proc/culprit.h"

static void free_member(struct crowd_member *member)
{
	free(member->callback);
	free(member->kind);
	free(member->name);
}

/* From @first on: the one with the names of @member; NULL: there is none. */
static struct crowd_member *find(const struct crowd *crowd, size_t first,
				 const struct crowd_member *member)
{
	for (size_t i = first; i < crowd->count; i++) {
		struct crowd_member *other = &crowd->members[i];

		if (!strcmp(other->callback, member->callback) &&
		    !strcmp(other->kind, member->kind) && !strcmp(other->name, member->name))
			return other;
	}
	return NULL;
}

/* A name that is given twice would make all of the text worthless to its reader. */
static void add_member(struct crowd *crowd, size_t first, const struct culprit *culprit,
		       unsigned int top)
{
	const struct proc_sender *sender = culprit->sender;
	struct crowd_member member = {
		.cpu = culprit->cpu,
		.callback = exposition_text(sender->callback ? sender->callback : ""),
		.kind = exposition_text(sender->kind),
		.name = exposition_text(sender->comm),
		.counts = culprit->counts,
		.longest_ns = culprit->longest_ns,
	};
	struct crowd_member *same = find(crowd, first, &member);

	if (!same && (!top || crowd->count - first < top)) {
		*ARRAY_ADD(crowd->members, crowd->count) = member;
		return;
	}
	if (same) {
		counts_add(&same->counts, &member.counts);
		if (member.longest_ns > same->longest_ns)
			same->longest_ns = member.longest_ns;
	} else {
		counts_add(&crowd->rests[crowd->nr_rests - 1].counts, &member.counts);
	}
	free_member(&member);
}

void crowd_add_senders(struct crowd *crowd, const struct proc_cpu *cpu, unsigned int top)
{
	struct culprits culprits = { 0 };
	size_t first = crowd->count;

	ARRAY_ADD(crowd->rests, crowd->nr_rests)->cpu = cpu->cpu;
	culprits_add(&culprits, cpu, NULL);
	culprits_rank(&culprits);
	for (size_t i = 0; i < culprits.count; i++) {
		const struct culprit *culprit = &culprits.list[i];

		if (!strcmp(culprit->sender->kind, "others"))
			counts_add(&crowd->rests[crowd->nr_rests - 1].counts, &culprit->counts);
		else
			add_member(crowd, first, culprit, top);
	}
	culprits_free(&culprits);
}

void crowd_add_callbacks(struct crowd *crowd, const struct proc_cpu *cpu, unsigned int top)
{
	/* As senders without a name: they are ranked in the same way. */
	struct proc_cpu named = { .cpu = cpu->cpu };

	for (size_t i = 0; i < cpu->nr_callbacks; i++)
		*ARRAY_ADD(named.senders, named.nr_senders) = (struct proc_sender){
			.callback = cpu->callbacks[i].name,
			.kind = "",
			.comm = "",
			.counts = cpu->callbacks[i].counts,
			.longest_ns = cpu->callbacks[i].longest_ns,
		};
	crowd_add_senders(crowd, &named, top);
	free(named.senders);
}

void crowd_free(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->count; i++)
		free_member(&crowd->members[i]);
	free(crowd->members);
	free(crowd->rests);
	*crowd = (struct crowd){ 0 };
}

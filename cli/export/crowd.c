// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/exposition.h"
#include "export/crowd.h"
#include "proc/ranked.h"

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
static void add_member(struct crowd *crowd, size_t first, const struct ranked_sender *entry,
		       unsigned int top)
{
	const struct proc_sender *sender = entry->sender;
	struct crowd_member member = {
		.cpu = entry->cpu,
		.callback = exposition_text(sender->callback ? sender->callback : ""),
		.kind = exposition_text(sender->kind),
		.name = exposition_text(sender->comm),
		.counts = entry->counts,
		.longest_ns = entry->longest_ns,
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
	struct ranked_senders ranked = { 0 };
	size_t first = crowd->count;

	ARRAY_ADD(crowd->rests, crowd->nr_rests)->cpu = cpu->cpu;
	ranked_add(&ranked, cpu, NULL);
	ranked_rank(&ranked);
	for (size_t i = 0; i < ranked.count; i++) {
		const struct ranked_sender *entry = &ranked.list[i];

		if (!strcmp(entry->sender->kind, "others"))
			counts_add(&crowd->rests[crowd->nr_rests - 1].counts, &entry->counts);
		else
			add_member(crowd, first, entry, top);
	}
	ranked_free(&ranked);
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

// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "bpf/sum.h"

static bool is_thread(unsigned int type)
{
	return type == RECORD_PREEMPTION || type == RECORD_THREAD || type == RECORD_WORK;
}

static void add(const struct reader *reader, const struct record_part *part,
		struct finding *finding)
{
	struct cause cause = { .pid = is_thread(part->type) ? part->pid : -1, .ns = part->ns };
	char name[RECORD_NAME];

	memcpy(name, part->name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	cause.kind = sum_name(reader, part->type, part->who, name, &cause.who);
	sum_sender(reader, &part->sender, &cause);
	finding_add(finding, &cause);
}

/* Its task went on elsewhere, while the longest of its causes still ran: that is cut. */
static void move(struct finding *finding)
{
	uint64_t value = finding->excess.value_ns;

	if (finding->explained_ns > value && finding->count) {
		uint64_t beyond = finding->explained_ns - value;
		struct cause *longest = &finding->causes[0];

		longest->ns = longest->ns > beyond ? longest->ns - beyond : 0;
	} else if (finding->explained_ns < value) {
		/* What is left of it went by between here and there. */
		finding_add(finding, &(struct cause){ .kind = CAUSE_MIGRATION, .pid = -1,
			    .sender_cpu = -1, .ns = value - finding->explained_ns });
	}
	finding_sort(finding);
}

void loss_finding(const struct reader *reader, const struct record_loss *loss, uint64_t real_ns,
		  struct finding *finding)
{
	size_t parts = loss->nr_parts < RECORD_PARTS ? loss->nr_parts : RECORD_PARTS;

	finding->excess = (struct excess){
		.cpu = (int)loss->cpu, .tid = loss->pid, .trigger = loss->number,
		.from_ns = loss->from_ns, .to_ns = loss->to_ns,
		.value_ns = loss->to_ns - loss->from_ns,
	};
	finding->at_ns = loss->from_ns + real_ns;
	finding->explained_ns = 0;
	finding->count = 0;
	for (size_t i = 0; i < parts; i++)
		add(reader, &loss->parts[i], finding);
	if (loss->rest_ns)
		finding_add(finding, &(struct cause){ .kind = CAUSE_UNKNOWN, .pid = -1,
			    .who = names_keep(reader->names, NAMES_OTHERS), .sender_cpu = -1,
			    .ns = loss->rest_ns });
	finding_sort(finding);
	if (loss->moved)
		move(finding);
}

bool loss_last(struct record_state *state, uint64_t now_ns, struct record_loss *loss)
{
	unsigned int at = 0;
	uint64_t value;

	*loss = state->loss;
	if (!loss->from_ns)
		return false;
	/* Whoever waited still does. */
	if (!loss->to_ns)
		loss->to_ns = now_ns;
	if (loss->to_ns <= loss->from_ns)
		return false;
	state->loss.from_ns = 0;
	value = loss->to_ns - loss->from_ns;
	while (at < RECORD_BUCKETS - 1 && value >> (at + 1))
		at++;
	state->losses++;
	state->lost_ns += value;
	state->buckets[at]++;
	if (value > state->worst_ns) {
		state->worst_ns = value;
		state->worst_at_ns = loss->to_ns;
	}
	return true;
}

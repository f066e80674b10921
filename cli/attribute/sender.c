// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "attribute/sender.h"
#include "base/error.h"

/* What was sent longer ago has been answered already. */
#define IPI_REACH_NS UINT64_C(20000000)

void senders_open(struct senders *senders)
{
	memset(senders, 0, sizeof(*senders));
	senders->list = calloc(SENDERS_MOST, sizeof(*senders->list));
	if (!senders->list)
		error_no_memory();
}

void senders_close(struct senders *senders)
{
	free(senders->list);
	memset(senders, 0, sizeof(*senders));
}

void senders_clear(struct senders *senders)
{
	senders->count = 0;
	senders->next = 0;
}

/* Whom @event is aimed at, and by what its receiver names it. */
static bool aimed(const struct trace_event *event, int target, uint64_t *key)
{
	const int64_t *n = event->n;

	switch (event->type) {
	case TRACE_IPI_SEND:
		*key = (uint64_t)n[2];
		return n[0] == target;
	case TRACE_IPI_MASK:
		*key = (uint64_t)n[2];
		return trace_event_mask_has(event, target);
	case TRACE_IPI_RAISE:
		*key = (uint64_t)n[1];
		return trace_event_mask_has(event, target);
	case TRACE_CALL_QUEUE:
		*key = (uint64_t)n[3];
		return n[0] == target;
	case TRACE_WORK_QUEUE:
		*key = (uint64_t)n[1];
		return n[2] == target;
	case TRACE_WAKING:
		*key = (uint64_t)n[0];
		return n[2] == target;
	default:
		return false;
	}
}

void senders_see(struct senders *senders, const struct trace_event *event, int cpu, int target)
{
	struct sender *sender;
	uint64_t key;

	if (event->type == TRACE_STACK && senders->count) {
		/* It follows the event that it belongs to. */
		sender = &senders->list[(senders->next + SENDERS_MOST - 1) % SENDERS_MOST];
		if (sender->cpu != cpu || sender->pid != event->pid || sender->nr_stack)
			return;
		while (sender->nr_stack < CAUSE_STACK) {
			uint64_t address = trace_event_address(event, sender->nr_stack);

			if (!address)
				break;
			sender->stack[sender->nr_stack++] = address;
		}
		return;
	}
	if (!aimed(event, target, &key))
		return;
	sender = &senders->list[senders->next];
	*sender = (struct sender){
		.ns = event->ns, .type = event->type, .pid = event->pid, .cpu = cpu, .key = key,
	};
	senders->next = (senders->next + 1) % SENDERS_MOST;
	if (senders->count < SENDERS_MOST)
		senders->count++;
}

static int by_time(const void *left, const void *right)
{
	const struct sender *a = left, *b = right;

	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

void senders_sort(struct senders *senders)
{
	qsort(senders->list, senders->count, sizeof(*senders->list), by_time);
}

/* How many are not after @ns. */
static size_t until(const struct senders *senders, uint64_t ns)
{
	size_t low = 0, high = senders->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (senders->list[middle].ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* May @sender have sent what @frame is? */
static bool fits(const struct sender *sender, const struct frame *frame)
{
	bool ipi = sender->type == TRACE_IPI_SEND || sender->type == TRACE_IPI_MASK;

	switch (frame->type) {
	case TRACE_CALL_ENTRY:
		return sender->type == TRACE_CALL_QUEUE && sender->key == frame->key;
	case TRACE_WORK_ENTRY:
		return sender->type == TRACE_WORK_QUEUE && sender->key == frame->key;
	case TRACE_IPI_ENTRY:
		return sender->type == TRACE_IPI_RAISE && sender->key == frame->key;
	case TRACE_VECTOR_ENTRY:
		/* A wish to reschedule has no callback; a timer or a device no sender. */
		if (!strcmp(frame->actor.text, "reschedule"))
			return ipi && !sender->key;
		return ipi && sender->key && frame->actor.kind == CAUSE_IPI;
	default:
		return false;
	}
}

const struct sender *sender_of_frame(const struct senders *senders, const struct frame *frame)
{
	bool can_wait = frame->type == TRACE_WORK_ENTRY;

	for (size_t i = until(senders, frame->since_ns); i--;) {
		const struct sender *sender = &senders->list[i];

		if (!can_wait && frame->since_ns - sender->ns > IPI_REACH_NS)
			break;
		if (fits(sender, frame))
			return sender;
	}
	return NULL;
}

const struct sender *sender_of_task(const struct senders *senders, int pid, uint64_t ns)
{
	for (size_t i = until(senders, ns); i--;)
		if (senders->list[i].type == TRACE_WAKING && (int)senders->list[i].key == pid)
			return &senders->list[i];
	return NULL;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loss of a measured CPU that is open: what its task does not get at one stretch. */
#ifndef LOSS_BPF_H
#define LOSS_BPF_H

#include "bpf/table.bpf.h"

#define TOGETHER_NS 1000	/* losses that are less apart are one: an interrupt and its softirq */

/* A loss is over for good: told, if it was long enough. */
static __noinline int flush(struct record_state *s)
{
	struct record_loss *loss = &s->loss;
	__u64 value = loss->to_ns - loss->from_ns;
	__u64 size = __builtin_offsetof(struct record_loss, parts) +
		loss->nr_parts * sizeof(struct record_part);
	__u32 at = bucket(value);

	if (!loss->from_ns || !loss->to_ns || loss->to_ns <= loss->from_ns)
		return 0;
	s->losses++;
	s->lost_ns += value;
	if (at < RECORD_BUCKETS)
		s->buckets[at]++;
	if (value > s->worst_ns) {
		s->worst_ns = value;
		s->worst_at_ns = loss->to_ns;
	}
	if (value >= threshold_ns) {
		s->above++;
		OPAQUE(size);
		if (size > sizeof(*loss))
			size = sizeof(*loss);
		/* Waking the reader would interrupt this CPU: it looks by itself. */
		if (bpf_ringbuf_output(&ring, loss, size, BPF_RB_NO_WAKEUP))
			s->dropped++;
	}
	loss->from_ns = 0;
	return 0;
}

/* Interrupts that come amid this are at a depth at which they neither begin nor end one. */
static __always_inline void begin_loss(struct record_state *s, __u64 now)
{
	struct record_loss *loss = &s->loss;

	if (loss->from_ns) {
		if (!loss->to_ns)
			return;
		if (now - loss->to_ns < TOGETHER_NS && loss->pid == s->pid) {
			loss->to_ns = 0;
			return;
		}
		flush(s);
	}
	loss->to_ns = 0;
	loss->number = s->losses;
	loss->rest_ns = 0;
	loss->cpu = bpf_get_smp_processor_id();
	loss->pid = s->pid;
	loss->nr_parts = 0;
	loss->moved = 0;
	loss->from_ns = now;
}

/*
 * It is over at @now, when @counted was nested in the thread, and lasted for what came since.  An
 * interrupt amid this ends it too, and the last one is right: that time is put back.
 */
static __always_inline void end_loss(struct record_state *s, __u64 now, __u64 counted)
{
	struct record_loss *loss = &s->loss;
	struct record_frame *thread = &s->frames[0];
	__u64 to, late;

	if (!loss->from_ns || loss->to_ns || s->waiting)
		return;
	to = now + (thread->nested_ns - counted);
	loss->to_ns = to;
	BARRIER();
	late = now + (thread->nested_ns - counted);
	if (late != to && loss->to_ns == to)
		loss->to_ns = late;
}

/* An interrupt may do it amid another. */
static __always_inline void add_rest(struct record_loss *loss, __u64 ns)
{
	__sync_fetch_and_add(&loss->rest_ns, ns);
}

static __noinline int put_part(struct record_state *s, struct record_frame *frame, __u64 own,
			       struct record_sender *sender)
{
	struct record_loss *loss = &s->loss;
	struct record_part *part, *least = &loss->parts[0];
	__u32 i;

	for (i = 0; i < RECORD_PARTS; i++) {
		part = &loss->parts[i];
		if (i >= loss->nr_parts)
			break;
		if (part->ns < least->ns)
			least = part;
		if (part->type != frame->type || part->who[0] != frame->who[0] ||
		    part->who[1] != frame->who[1])
			continue;
		part->ns += own;
		if (own > part->longest_ns) {
			part->longest_ns = own;
			part->sender = *sender;
		}
		return 0;
	}
	if (i < RECORD_PARTS) {
		part = &loss->parts[i];
		loss->nr_parts = i + 1;
	} else if (least->ns >= own) {
		add_rest(loss, own);
		return 0;
	} else {
		/* What took the least makes way. */
		part = least;
		add_rest(loss, least->ns);
	}
	part->type = frame->type;
	part->pid = s->pid;
	part->who[0] = frame->who[0];
	part->who[1] = frame->who[1];
	part->name[0] = '\0';
	if (frame->name)
		bpf_probe_read_kernel_str(part->name, sizeof(part->name), (void *)frame->name);
	part->ns = part->longest_ns = own;
	part->sender = *sender;
	return 0;
}

/* Amid another the table of parts is not whole: what comes then has no room. */
static __always_inline void add_part(struct record_state *s, struct record_frame *frame, __u64 own,
				     struct record_sender *sender)
{
	if (s->adding) {
		add_rest(&s->loss, own);
		return;
	}
	s->adding = 1;
	BARRIER();
	put_part(s, frame, own, sender);
	BARRIER();
	s->adding = 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who took how much: the tally of each, its longest with its sender, and its part of a loss. */
#ifndef ACCOUNT_BPF_H
#define ACCOUNT_BPF_H

#include "bpf/loss.bpf.h"

/* The tally of @frame on this CPU, which is made if it is the first; NULL: not even others. */
static __noinline struct record_tally *tally_of(struct record_state *s, struct record_frame *frame)
{
	struct record_key key = {
		.cpu = bpf_get_smp_processor_id(), .type = frame->type,
		.who = { frame->who[0], frame->who[1] },
	};
	struct record_tally *tally = bpf_map_lookup_elem(&tallies, &key);

	if (tally)
		return tally;
	if (!bpf_map_update_elem(&tallies, &key, &empty_tally, BPF_NOEXIST)) {
		tally = bpf_map_lookup_elem(&tallies, &key);
		if (tally && frame->name)
			bpf_probe_read_kernel_str(tally->name, sizeof(tally->name),
						  (void *)frame->name);
		return tally;
	}
	s->crowded++;
	key.who[0] = key.who[1] = RECORD_OTHERS;
	return bpf_map_lookup_elem(&tallies, &key);
}

/* @frame took @own; @whole: it is over, and not only switched out. */
__noinline int account(struct record_state *s, struct record_frame *frame, __u64 own, bool whole,
		       __u64 now)
{
	struct record_sender sender = { .cpu = -1, .stack = -1 };
	struct record_tally *tally;
	__u64 length;
	bool lost;
	__u32 at;

	if (!s || !frame)
		return 0;
	tally = tally_of(s, frame);
	lost = s->loss.from_ns && !s->loss.to_ns;
	length = own + frame->before_ns;
	at = bucket(length);
	if (!tally) {
		s->uncounted++;
		return 0;
	}
	if (frame->sender && (lost || length > tally->worst_ns)) {
		struct sender_key key = { .what = frame->sender, .cpu = ANY_CPU };
		struct record_sender *found;

		/* Interrupts are sent to a CPU, threads and work wherever they run. */
		if (frame->type == RECORD_VECTOR || frame->type == RECORD_CALL)
			key.cpu = bpf_get_smp_processor_id();
		found = bpf_map_lookup_elem(&senders, &key);
		if (found)
			sender = *found;
	}
	tally->total_ns += own;
	if (whole) {
		tally->count++;
		if (at < RECORD_BUCKETS)
			tally->buckets[at]++;
		if (length >= tally->worst_ns) {
			tally->worst_ns = length;
			tally->worst_at_ns = now;
			tally->sender = sender;
		}
	}
	if (lost)
		add_part(s, frame, own, &sender);
	return 0;
}

#endif

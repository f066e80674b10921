/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread that is switched out was amid, and whether it came back elsewhere. */
#ifndef SWITCH_BPF_H
#define SWITCH_BPF_H

#include "bpf/frame.bpf.h"

/* What the thread was amid is counted so far, and goes on when it does. */
static __noinline int keep(struct record_state *s, __s32 pid, __u64 now)
{
	struct record_kept *all = &s->kept;
	__u32 depth = s->depth;

	if (depth > RECORD_KEPT) {
		drop_unseen(s, RECORD_KEPT);
		depth = RECORD_KEPT;
	}
	all->count = depth;
	for (__u32 i = RECORD_KEPT; i; i--) {
		struct record_frame *frame = frame_at(s, i);
		__u64 length = now - frame->since_ns;

		if (i > depth)
			continue;
		length = length > frame->nested_ns ? length - frame->nested_ns : 0;
		leave(s, i, frame->nested_ns, false, now);
		all->frames[i - 1] = *frame;
		all->frames[i - 1].before_ns += length;
	}
	if (bpf_map_update_elem(&kept, &pid, all, BPF_ANY))
		s->uncounted++;
	return 0;
}

static __noinline int take_up(struct record_state *s, __s32 pid, __u64 now)
{
	struct record_kept *all = bpf_map_lookup_elem(&kept, &pid);
	struct record_frame *frame;

	if (!all)
		return 0;
	for (__u32 i = 0; i < RECORD_KEPT; i++) {
		if (i >= all->count)
			break;
		frame = frame_at(s, i + 1);
		*frame = all->frames[i];
		frame->nested_ns = 0;
		frame->since_ns = now;
		s->depth = i + 1;
	}
	bpf_map_delete_elem(&kept, &pid);
	return 0;
}

/*
 * Somebody ran whose switch in was not seen: whose the time was since the last one is not known.
 * If it is the one that waited, its loss is told as far as it is known to have lasted.
 */
static __always_inline void take_unseen(struct record_state *s, struct task_struct *task)
{
	struct record_frame *thread = &s->frames[0];
	__u64 since = thread->since_ns, nested = thread->nested_ns;

	s->unseen++;
	if (s->waiting && task->pid == s->loss.pid) {
		s->waiting = 0;
		s->loss.to_ns = since + nested;
	}
	take_thread(s, task, since);
	thread->nested_ns = nested;
	thread->who[0] = thread->who[1] = RECORD_OTHERS;
	thread->sender = 0;
}

static __always_inline __u64 trim_part(struct record_part *part, __u64 excess)
{
	__u64 cut = excess < part->ns ? excess : part->ns;

	part->ns -= cut;
	if (part->longest_ns > part->ns)
		part->longest_ns = part->ns;
	return excess - cut;
}

/*
 * What is not the waiting thread's loss any more is taken from the part of who ran last; what
 * interrupts had of it, from the parts that are newest.
 */
static __noinline int trim(struct record_state *s, __u64 excess)
{
	struct record_frame *frame = &s->frames[0];
	struct record_loss *loss = &s->loss;

	for (__u32 i = 0; i < RECORD_PARTS; i++) {
		struct record_part *part = &loss->parts[i];

		if (i >= loss->nr_parts)
			break;
		if (part->type != frame->type || part->who[0] != frame->who[0] ||
		    part->who[1] != frame->who[1])
			continue;
		excess = trim_part(part, excess);
		break;
	}
	for (__u32 i = RECORD_PARTS; i; i--)
		if (i <= loss->nr_parts)
			excess = trim_part(&loss->parts[i - 1], excess);
	loss->rest_ns -= excess < loss->rest_ns ? excess : loss->rest_ns;
	return 0;
}

/* The thread that waits has left this CPU: what it lost here is over. */
static __always_inline void look_for_waiting(struct record_state *s, __u64 now)
{
	__s32 pid = s->loss.pid;
	__u64 *at = bpf_map_lookup_elem(&moved, &pid);

	if (!at || *at < s->loss.from_ns)
		return;
	s->waiting = 0;
	s->loss.moved = 1;
	s->loss.to_ns = *at;
	if (now > *at)
		trim(s, now - *at);
}

#endif

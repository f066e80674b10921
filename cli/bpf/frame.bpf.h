/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each measured CPU has a stack of what is going on, the thread lowest; a frame's own time is
 * its length without what was nested in it.  Only programs on a CPU write to its state and to
 * its tallies, so there is no lock.  An interrupt may come amid a program, but has ended
 * before that goes on: steps are in an order in which what it adds is not lost.
 */
#ifndef FRAME_BPF_H
#define FRAME_BPF_H

#include "bpf/account.bpf.h"

#define WAKER (1ULL << 63)	/* the sender of a thread is noted by its number */
#define LOOKS 4			/* that an interrupt may each come amid */

/* The thread that runs, where no switch was seen yet. */
static __always_inline void take_thread(struct record_state *s, struct task_struct *task, __u64 now)
{
	struct record_frame *thread = &s->frames[0];
	int tgid = task->tgid;
	__u32 flags = task->flags;

	s->pid = task->pid;
	s->measured = of && (s->pid == of || tgid == of);
	s->counts = s->pid && (of ? s->measured : !(flags & PF_KTHREAD));
	thread->known = 1;
	thread->type = RECORD_THREAD;
	thread->who[0] = thread->who[1] = 0;
	bpf_probe_read_kernel_str(thread->who, sizeof(thread->who), task->comm);
	thread->sender = WAKER | (__u32)s->pid;
	thread->nested_ns = 0;
	thread->since_ns = now;
}

static __always_inline void sample(struct record_state *s, __u64 now)
{
	if (s->events++ % RECORD_SAMPLE)
		return;
	s->sampled++;
	s->sampled_ns += bpf_ktime_get_ns() - now;
}

/* The time, and how much of @frame's was nested by then: nothing came between these two. */
static __always_inline __u64 look(struct record_frame *frame, __u64 *nested)
{
	__u64 now = 0;

	for (int i = 0; i < LOOKS; i++) {
		*nested = frame->nested_ns;
		now = bpf_ktime_get_ns();
		BARRIER();
		if (frame->nested_ns == *nested)
			break;
	}
	return now;
}

/*
 * The topmost frame is gone, which had @own for itself; with what was nested in it, that is
 * nested in the one below.
 */
static __always_inline void drop(struct record_state *s, __u32 depth, __u64 own)
{
	struct record_frame *frame = frame_at(s, depth);
	struct record_frame *below = frame_at(s, depth - 1);
	__u64 nested = frame->nested_ns;

	below->nested_ns += own + nested;
	/* An interrupt may have added to it since it was read. */
	if (nested)
		__sync_fetch_and_add(&frame->nested_ns, -nested);
	BARRIER();
	s->depth = depth - 1;
	BARRIER();
	/*
	 * One that comes from here on uses this frame, and hands on what it finds there.  Only if
	 * one came just before depth went down, and another one comes now, is that handed on twice.
	 */
	nested = frame->nested_ns;
	if (nested) {
		frame->nested_ns = 0;
		__sync_fetch_and_add(&below->nested_ns, nested);
	}
}

/* Those above @depth have ended unseen: their own time is of the one that they were in. */
__noinline int drop_unseen(struct record_state *s, __u32 depth)
{
	if (!s)
		return 0;
	for (int i = 1; i < RECORD_FRAMES && s->depth > depth; i++) {
		drop(s, s->depth, 0);
		s->unmatched++;
	}
	return 0;
}

/* Something begins on top of what goes on. */
__noinline int begin(__u32 type, __u64 who, __u64 match, __u64 name, __u64 sender)
{
	struct record_state *s = here();
	struct record_frame *frame;
	__u64 now, nested;
	__u32 depth;

	if (!s)
		return 0;
	if (s->depth + 1 >= RECORD_FRAMES)
		drop_unseen(s, 0);
	depth = s->depth + 1;
	frame = frame_at(s, depth);
	/* From here on an interrupt uses the frame above, and adds its time to this one. */
	s->depth = depth;
	BARRIER();
	frame->type = type;
	frame->who[0] = who;
	frame->who[1] = 0;
	frame->match = match;
	frame->name = name;
	frame->sender = sender;
	frame->before_ns = 0;
	now = look(frame, &nested);
	frame->since_ns = now - nested;
	if (!s->frames[0].known)
		take_thread(s, bpf_get_current_task_btf(), now);
	if (depth == 1 && s->counts && !s->waiting)
		begin_loss(s, frame->since_ns);
	sample(s, now);
	return 0;
}

/* Where the frame is that ends; those above it have ended unseen.  0: its begin was not seen. */
static __always_inline __u32 find(struct record_state *s, __u32 type, __u64 match)
{
	__u32 depth = s->depth;

	for (int i = 1; i < RECORD_FRAMES && depth; i++, depth--) {
		struct record_frame *frame = frame_at(s, depth);

		if (frame->type == type && frame->match == match)
			break;
	}
	if (!depth) {
		s->unmatched++;
		return 0;
	}
	drop_unseen(s, depth);
	return depth;
}

/*
 * The topmost frame ends, or only rests, of which @nested was not its own at @now.  Returns what
 * is nested in the one below without any that came since.
 */
static __always_inline __u64 leave(struct record_state *s, __u32 depth, __u64 nested, bool whole,
				   __u64 now)
{
	struct record_frame *frame = frame_at(s, depth);
	__u64 length = now - frame->since_ns, own = length > nested ? length - nested : 0;
	__u64 counted = frame_at(s, depth - 1)->nested_ns + own + nested;

	account(s, frame, own, whole, now);
	drop(s, depth, own);
	return counted;
}

__noinline int end(__u32 type, __u64 match)
{
	struct record_state *s = here();
	__u64 now, nested, counted;
	__u32 depth;

	if (!s)
		return 0;
	if (!s->frames[0].known)
		take_thread(s, bpf_get_current_task_btf(), bpf_ktime_get_ns());
	depth = find(s, type, match);
	if (!depth)
		return 0;
	now = look(frame_at(s, depth), &nested);
	counted = leave(s, depth, nested, true, now);
	if (depth == 1)
		end_loss(s, now, counted);
	sample(s, now);
	return 0;
}

/* Something that is only counted. */
__noinline int happen(__u32 type, __u64 who)
{
	struct record_frame frame = { .type = type, .who = { who } };
	struct record_state *s = here();
	__u64 now;

	if (!s)
		return 0;
	now = bpf_ktime_get_ns();
	account(s, &frame, 0, true, now);
	sample(s, now);
	return 0;
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Who takes how much time on the measured CPUs, counted in the kernel: what is attached where. */
#include "bpf/switch.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int state)
{
	struct record_state *s = here();
	struct record_frame *thread;
	__s32 before, after;
	__u64 now, length;

	if (!s)
		return 0;
	now = bpf_ktime_get_ns();
	before = prev->pid;
	after = next->pid;
	if (!s->frames[0].known)
		take_thread(s, prev, now);
	else if (s->pid != before)
		take_unseen(s, prev);
	thread = &s->frames[0];
	if (s->depth)
		keep(s, before, now);
	if (before && !(s->measured && !s->waiting)) {
		length = now - thread->since_ns;
		thread->type = s->waiting ? RECORD_PREEMPTION : RECORD_THREAD;
		account(s, thread, length > thread->nested_ns ? length - thread->nested_ns : 0,
			true, now);
	}
	if (s->waiting)
		look_for_waiting(s, now);
	if (s->counts && !s->waiting && (preempt || !state)) {
		begin_loss(s, now);
		s->waiting = 1;
	}
	take_thread(s, next, now);
	if (s->waiting && after == s->loss.pid)
		s->waiting = 0;
	end_loss(s, now, s->frames[0].nested_ns);
	if (after) {
		take_up(s, after, now);
		if (s->depth && s->counts && !s->waiting)
			begin_loss(s, now);
	}
	sample(s, now);
	return 0;
}

/*
 * The table has one place for a stack, by its hash, and keeps who is there. Without its first
 * calls, which are of the tracing, the same stack has another hash and so another place: on a
 * busy machine one of eight stacks finds its first place taken.
 */
static __always_inline __s32 keep_stack(void *ctx)
{
	__s32 found = bpf_get_stackid(ctx, &stacks, BPF_F_FAST_STACK_CMP);

	if (found < 0)
		found = bpf_get_stackid(ctx, &stacks, BPF_F_FAST_STACK_CMP | 1);
	if (found < 0)
		found = bpf_get_stackid(ctx, &stacks, BPF_F_FAST_STACK_CMP | 2);
	if (found < 0)
		__sync_fetch_and_add(&without_stack, 1);
	return found;
}

/* Notes that this CPU's task wants @what of @cpu. */
static __always_inline void note_sender(void *ctx, __u64 what, __u32 cpu)
{
	struct sender_key key = { .what = what, .cpu = cpu };
	struct record_sender sender = {
		.ns = bpf_ktime_get_ns(), .cpu = bpf_get_smp_processor_id(),
		.pid = bpf_get_current_pid_tgid(), .stack = -1, .known = 1,
	};

	bpf_get_current_comm(sender.comm, sizeof(sender.comm));
	if (want_stacks)
		sender.stack = keep_stack(ctx);
	bpf_map_update_elem(&senders, &key, &sender, BPF_ANY);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	if (is_measured(task->thread_info.cpu))
		note_sender(ctx, WAKER | (__u32)task->pid, ANY_CPU);
	return 0;
}

SEC("tp_btf/csd_queue_cpu")
int BPF_PROG(call_queued, unsigned int cpu, unsigned long site, void *function, void *call)
{
	if (is_measured(cpu))
		note_sender(ctx, (__u64)call, cpu);
	return 0;
}

SEC("tp_btf/ipi_send_cpu")
int BPF_PROG(ipi_sent, unsigned int cpu, unsigned long site, void *callback)
{
	/* Without a callback it is a wish to reschedule. */
	if (is_measured(cpu) && !callback)
		note_sender(ctx, 1, cpu);
	return 0;
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(work_queued, int cpu, void *queue, struct work_struct *work)
{
	if (cpu >= 0 && is_measured(cpu))
		note_sender(ctx, (__u64)work, ANY_CPU);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(migrated, struct task_struct *task, int to)
{
	struct record_key key = { .type = RECORD_MIGRATION };
	struct record_tally *tally;
	__s32 pid = task->pid;
	__u64 now;

	if (!counting)
		return 0;
	key.cpu = task->thread_info.cpu;
	if (is_measured(key.cpu)) {
		now = bpf_ktime_get_ns();
		bpf_map_update_elem(&moved, &pid, &now, BPF_ANY);
		/* Its end comes elsewhere. */
		bpf_map_delete_elem(&kept, &pid);
	} else if (to >= 0 && is_measured(to)) {
		now = bpf_ktime_get_ns();
		key.cpu = to;
	} else {
		return 0;
	}
	bpf_probe_read_kernel_str(key.who, sizeof(key.who), task->comm);
	tally = bpf_map_lookup_elem(&tallies, &key);
	if (!tally) {
		bpf_map_update_elem(&tallies, &key, &empty_tally, BPF_NOEXIST);
		tally = bpf_map_lookup_elem(&tallies, &key);
	}
	if (!tally) {
		key.who[0] = key.who[1] = RECORD_OTHERS;
		tally = bpf_map_lookup_elem(&tallies, &key);
	}
	if (!tally)
		return 0;
	/* Any CPU may do it to any task. */
	__sync_fetch_and_add(&tally->count, 1);
	__sync_fetch_and_add(&tally->buckets[0], 1);
	tally->worst_at_ns = now;
	tally->sender.known = 1;
	tally->sender.cpu = bpf_get_smp_processor_id();
	tally->sender.pid = bpf_get_current_pid_tgid();
	tally->sender.stack = -1;
	bpf_get_current_comm(tally->sender.comm, sizeof(tally->sender.comm));
	return 0;
}

/* Arguments of these are plain numbers to the verifier, as begin() and end() want them. */

SEC("raw_tp/irq_handler_entry")
int BPF_PROG(irq_entry, int irq, struct irqaction *action)
{
	return begin(RECORD_IRQ, irq, irq, (__u64)BPF_CORE_READ(action, name), 0);
}

SEC("raw_tp/irq_handler_exit")
int BPF_PROG(irq_exit, int irq, struct irqaction *action, int result)
{
	return end(RECORD_IRQ, irq);
}

/* An interrupt of the processor's own; @sender as begin() has it. */
#define VECTOR(event, number, sender) \
SEC("raw_tp/" #event "_entry") \
int BPF_PROG(event##_begins, int vector) \
{ \
	return begin(RECORD_VECTOR, number, number, 0, sender); \
} \
SEC("raw_tp/" #event "_exit") \
int BPF_PROG(event##_ends, int vector) \
{ \
	return end(RECORD_VECTOR, number); \
}

VECTOR(local_timer, RECORD_LOCAL_TIMER, 0)
VECTOR(reschedule, RECORD_RESCHEDULE, 1)
VECTOR(call_function, RECORD_CALL_FUNCTION, 0)
VECTOR(call_function_single, RECORD_CALL_SINGLE, 0)
VECTOR(irq_work, RECORD_IRQ_WORK, 0)
VECTOR(x86_platform_ipi, RECORD_PLATFORM, 0)
VECTOR(thermal_apic, RECORD_THERMAL, 0)
VECTOR(threshold_apic, RECORD_THRESHOLD, 0)
VECTOR(deferred_error_apic, RECORD_DEFERRED, 0)
VECTOR(error_apic, RECORD_ERROR, 0)
VECTOR(spurious_apic, RECORD_SPURIOUS, 0)

SEC("raw_tp/ipi_entry")
int BPF_PROG(ipi_begins, const char *reason)
{
	return begin(RECORD_IPI, (__u64)reason, (__u64)reason, (__u64)reason, 0);
}

SEC("raw_tp/ipi_exit")
int BPF_PROG(ipi_ends, const char *reason)
{
	return end(RECORD_IPI, (__u64)reason);
}

SEC("raw_tp/csd_function_entry")
int BPF_PROG(call_begins, void *function, void *call)
{
	return begin(RECORD_CALL, (__u64)function, (__u64)function, 0, (__u64)call);
}

SEC("raw_tp/csd_function_exit")
int BPF_PROG(call_ends, void *function, void *call)
{
	return end(RECORD_CALL, (__u64)function);
}

SEC("raw_tp/softirq_entry")
int BPF_PROG(softirq_begins, unsigned int number)
{
	return begin(RECORD_SOFTIRQ, number, number, 0, 0);
}

SEC("raw_tp/softirq_exit")
int BPF_PROG(softirq_ends, unsigned int number)
{
	return end(RECORD_SOFTIRQ, number);
}

SEC("raw_tp/tasklet_entry")
int BPF_PROG(tasklet_begins, void *tasklet, void *function)
{
	return begin(RECORD_TASKLET, (__u64)function, (__u64)tasklet, 0, 0);
}

SEC("raw_tp/tasklet_exit")
int BPF_PROG(tasklet_ends, void *tasklet, void *function)
{
	return end(RECORD_TASKLET, (__u64)tasklet);
}

SEC("raw_tp/hrtimer_expire_entry")
int BPF_PROG(hrtimer_begins, struct hrtimer *timer)
{
	return begin(RECORD_HRTIMER, (__u64)BPF_CORE_READ(timer, function), (__u64)timer, 0, 0);
}

SEC("raw_tp/hrtimer_expire_exit")
int BPF_PROG(hrtimer_ends, struct hrtimer *timer)
{
	return end(RECORD_HRTIMER, (__u64)timer);
}

SEC("raw_tp/timer_expire_entry")
int BPF_PROG(timer_begins, struct timer_list *timer)
{
	return begin(RECORD_TIMER, (__u64)BPF_CORE_READ(timer, function), (__u64)timer, 0, 0);
}

SEC("raw_tp/timer_expire_exit")
int BPF_PROG(timer_ends, struct timer_list *timer)
{
	return end(RECORD_TIMER, (__u64)timer);
}

SEC("raw_tp/workqueue_execute_start")
int BPF_PROG(work_begins, struct work_struct *work)
{
	return begin(RECORD_WORK, (__u64)BPF_CORE_READ(work, func), (__u64)work, 0, (__u64)work);
}

SEC("raw_tp/workqueue_execute_end")
int BPF_PROG(work_ends, struct work_struct *work)
{
	return end(RECORD_WORK, (__u64)work);
}

/* Its tracepoint tells no end: page faults are counted, and their time is the thread's. */
#define FAULT(event, number) \
SEC("raw_tp/" #event) \
int BPF_PROG(event) \
{ \
	return happen(RECORD_FAULT, number); \
}

FAULT(page_fault_user, RECORD_FAULT_USER)
FAULT(page_fault_kernel, RECORD_FAULT_KERNEL)

/* Told when it is over. */
SEC("tp_btf/nmi_handler")
int BPF_PROG(nmi, void *handler, __s64 length, int handled)
{
	struct record_frame frame = { .type = RECORD_NMI, .who = { (__u64)handler } };
	struct record_state *s = here();
	bool alone;
	__u64 now;

	if (!s || length <= 0)
		return 0;
	now = bpf_ktime_get_ns();
	if (!s->frames[0].known)
		take_thread(s, bpf_get_current_task_btf(), now);
	alone = !s->depth && s->counts && !s->waiting;
	if (alone)
		begin_loss(s, now - length);
	account(s, &frame, length, true, now);
	frame_at(s, s->depth)->nested_ns += length;
	if (alone)
		end_loss(s, now, s->frames[0].nested_ns);
	return 0;
}

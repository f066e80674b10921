// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: KUnit tests of the table, the book-keeping and the checks of start. */
#include <kunit/test.h>
#include <linux/context_tracking.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/isolator.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timer.h>

#include "../../time/tick-internal.h"
#include "../internal.h"

static void isolator_test_a(void *info) { }
static void isolator_test_b(void *info) { }
static void isolator_test_unknown(void *info) { }

/* A CPU that is not one: no sender and no hook knows it. */
static struct isolator_cpu *isolator_test_cpu(struct kunit *test)
{
	struct isolator_cpu *ic = kunit_kzalloc(test, sizeof(*ic), GFP_KERNEL);
	struct isolator_page *page = kunit_kzalloc(test, sizeof(*page), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ic);
	KUNIT_ASSERT_NOT_NULL(test, page);
	raw_spin_lock_init(&ic->lock);
	ic->page = page;
	ic->timer_next = KTIME_MAX;
	return ic;
}

static void isolator_test_note_queued(struct isolator_cpu *ic, enum isolator_kind kind,
				      void *func)
{
	unsigned long flags;

	local_irq_save(flags);
	isolator_note_queued(ic, kind, func, _RET_IP_,
			     kind == ISOLATOR_KIND_THREAD ? current : NULL);
	local_irq_restore(flags);
}

static void isolator_test_note_taken(struct isolator_cpu *ic, enum isolator_kind kind)
{
	unsigned long flags;

	local_irq_save(flags);
	isolator_note_taken(ic, kind);
	local_irq_restore(flags);
}

static void isolator_test_no_timer(struct timer_list *timer) { }

/* A pinned timer that has expired and could not run has done so by any clock. */
static void isolator_test_timer_next(struct kunit *test)
{
	struct timer_list timer;
	u64 next, now;

	timer_setup_on_stack(&timer, isolator_test_no_timer, TIMER_PINNED);
	timer.expires = jiffies - 1;
	local_irq_disable();
	now = ktime_get_ns();
	add_timer_on(&timer, smp_processor_id());
	next = timers_isolator_next(smp_processor_id());
	local_irq_enable();
	timer_delete_sync(&timer);
	destroy_timer_on_stack(&timer);
	KUNIT_EXPECT_LE(test, next, now);
}

/* What each entry that is shown says of @what, summed up. */
static u64 isolator_test_shown(struct kunit *test, struct isolator_cpu *ic,
			       const char *what, unsigned int *lines)
{
	struct seq_file m = { .size = 1 << 19 };
	char *line, *rest, *at;
	u64 sum = 0, n;

	m.buf = kvzalloc(m.size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m.buf);
	isolator_senders_show(&m, ic);
	KUNIT_EXPECT_FALSE(test, seq_has_overflowed(&m));
	*lines = 0;
	for (rest = m.buf; (line = strsep(&rest, "\n"));) {
		at = strnstr(line, what, strlen(line));
		if (!at || sscanf(at + strlen(what), "%llu", &n) != 1)
			continue;
		sum += n;
		++*lines;
	}
	kvfree(m.buf);
	return sum;
}

static void isolator_test_rule_default(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, __isolator_rule(isolator_test_unknown));
	KUNIT_EXPECT_NULL(test, __isolator_rule(NULL));
}

static void isolator_test_rule_table(struct kunit *test)
{
	const struct isolator_rule *rule;

	KUNIT_ASSERT_EQ(test, isolator_set_policy(isolator_test_a, ISOLATOR_EXCLUDE), 0);
	KUNIT_EXPECT_EQ(test, isolator_set_policy(isolator_test_a, ISOLATOR_EXCLUDE), 0);
	KUNIT_EXPECT_EQ(test, isolator_set_policy(isolator_test_a, ISOLATOR_DEFER_TLB),
			-EEXIST);
	rule = __isolator_rule(isolator_test_a);
	KUNIT_ASSERT_NOT_NULL(test, rule);
	KUNIT_EXPECT_EQ(test, rule->policy, ISOLATOR_EXCLUDE);
	KUNIT_EXPECT_PTR_EQ(test, isolator_rule_at(isolator_rule_slot(rule)), rule);
	KUNIT_EXPECT_NULL(test, isolator_rule_at(ISOLATOR_RULES));
	KUNIT_EXPECT_NULL(test, __isolator_rule(isolator_test_b));
}

static void isolator_test_free_tally(void *tally)
{
	free_percpu((struct isolator_tally __percpu *)tally);
}

/* Whichever CPU avoids the call, and however often that CPU was isolated before. */
static void isolator_test_avoided(struct kunit *test)
{
	struct isolator_cpu *ic = isolator_test_cpu(test);
	const struct isolator_rule *rule;
	unsigned int slot, cpu, cpus = 0, lines;

	KUNIT_ASSERT_EQ(test, isolator_set_policy(isolator_test_a, ISOLATOR_EXCLUDE), 0);
	rule = __isolator_rule(isolator_test_a);
	slot = isolator_rule_slot(rule);
	KUNIT_EXPECT_EQ(test, isolator_tally_since(ic, slot), 0);
	ic->tally = alloc_percpu(struct isolator_tally);
	KUNIT_ASSERT_NOT_NULL(test, ic->tally);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, isolator_test_free_tally,
							(void __force *)ic->tally), 0);
	for_each_possible_cpu(cpu) {
		per_cpu_ptr(ic->tally, cpu)->avoided[slot]++;
		cpus++;
	}
	isolator_reset_tally(ic);
	KUNIT_EXPECT_EQ(test, isolator_tally_since(ic, slot), 0);
	preempt_disable();
	isolator_count_avoided(ic, rule);
	isolator_count_avoided(ic, rule);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, ic->tally_base[slot], cpus);
	KUNIT_EXPECT_EQ(test, isolator_tally_since(ic, slot), 2);
	KUNIT_EXPECT_EQ(test, isolator_test_shown(test, ic, " excluded ", &lines), 2);
	KUNIT_EXPECT_EQ(test, lines, 1);
	KUNIT_EXPECT_EQ(test, ic->page->excluded, 2);
	KUNIT_EXPECT_EQ(test, ic->page->deferred, 0);
}

static void isolator_test_request_oldest(struct kunit *test)
{
	struct isolator_cpu *ic = isolator_test_cpu(test);
	struct isolator_request *req = &ic->requests[ISOLATOR_KIND_CALL];
	u64 first;

	isolator_test_note_queued(ic, ISOLATOR_KIND_CALL, isolator_test_a);
	first = req->since;
	KUNIT_EXPECT_NE(test, first, 0);
	usleep_range(10, 20);
	isolator_test_note_queued(ic, ISOLATOR_KIND_CALL, isolator_test_b);
	KUNIT_EXPECT_EQ(test, req->since, first);
	KUNIT_EXPECT_EQ(test, req->count, 2);
	KUNIT_EXPECT_PTR_EQ(test, req->func, (void *)isolator_test_a);
	KUNIT_EXPECT_EQ(test, req->pid, current->pid);
	KUNIT_EXPECT_EQ(test, ic->page->due, ISOLATOR_DUE_CALL);
	KUNIT_EXPECT_EQ(test, ic->page->queued, 2);
}

static void isolator_test_request_settled(struct kunit *test)
{
	struct isolator_cpu *ic = isolator_test_cpu(test);

	isolator_test_note_queued(ic, ISOLATOR_KIND_WAKE, isolator_test_a);
	usleep_range(10, 20);
	isolator_test_note_taken(ic, ISOLATOR_KIND_WAKE);
	KUNIT_EXPECT_EQ(test, ic->requests[ISOLATOR_KIND_WAKE].since, 0);
	KUNIT_EXPECT_GE(test, ic->longest[ISOLATOR_KIND_WAKE], 10 * NSEC_PER_USEC);
	/* Nothing pending: nothing to settle. */
	isolator_test_note_taken(ic, ISOLATOR_KIND_WAKE);
	KUNIT_EXPECT_EQ(test, ic->requests[ISOLATOR_KIND_WAKE].since, 0);
}

static void isolator_test_kinds_apart(struct kunit *test)
{
	static const u32 due[] = {
		[ISOLATOR_KIND_CALL]	= ISOLATOR_DUE_CALL,
		[ISOLATOR_KIND_WAKE]	= ISOLATOR_DUE_CALL,
		[ISOLATOR_KIND_RESCHED]	= ISOLATOR_DUE_RESCHED,
		[ISOLATOR_KIND_SIGNAL]	= ISOLATOR_DUE_SIGNAL,
		[ISOLATOR_KIND_THREAD]	= ISOLATOR_DUE_RESCHED,
		[ISOLATOR_KIND_TIMER]	= ISOLATOR_DUE_TIMER,
		[ISOLATOR_KIND_CLOCK]	= ISOLATOR_DUE_CLOCK,
	};
	int kind;

	for (kind = 0; kind < ISOLATOR_KINDS; kind++) {
		struct isolator_cpu *ic = isolator_test_cpu(test);
		int other;

		isolator_test_note_queued(ic, kind, NULL);
		KUNIT_EXPECT_EQ_MSG(test, ic->page->due, due[kind], "kind %s",
				    isolator_kind_names[kind]);
		for (other = 0; other < ISOLATOR_KINDS; other++)
			KUNIT_EXPECT_EQ(test, !!ic->requests[other].since,
					other == kind);
	}
}

static void isolator_test_callbacks_bounded(struct kunit *test)
{
	struct isolator_cpu *ic = isolator_test_cpu(test);
	unsigned long i;

	raw_spin_lock_irq(&ic->lock);
	for (i = 1; i <= 2 * ISOLATOR_CALLBACKS; i++)
		isolator_count_locked(ic, ISOLATOR_COUNT_QUEUED, ISOLATOR_KIND_CALL,
				      (void *)(i * 64), current->comm);
	raw_spin_unlock_irq(&ic->lock);
	KUNIT_EXPECT_EQ(test, ic->counts[ISOLATOR_COUNT_QUEUED], 2 * ISOLATOR_CALLBACKS);
	KUNIT_EXPECT_EQ(test, ic->callbacks_lost, ISOLATOR_CALLBACKS);
	for (i = 0; i < ISOLATOR_CALLBACKS; i++)
		KUNIT_EXPECT_EQ(test, ic->callbacks[i].counts[ISOLATOR_COUNT_QUEUED], 1);
}

static void isolator_test_free_senders(void *senders)
{
	kvfree(senders);
}

static void isolator_test_senders_complete(struct kunit *test)
{
	struct isolator_cpu *ic = isolator_test_cpu(test);
	unsigned int lines, i;

	ic->senders = isolator_senders_make();
	KUNIT_ASSERT_NOT_NULL(test, ic->senders);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, isolator_test_free_senders,
							ic->senders), 0);
	for (i = 0; i < 5; i++) {
		isolator_test_note_queued(ic, ISOLATOR_KIND_CALL, isolator_test_a);
		isolator_test_note_queued(ic, ISOLATOR_KIND_RESCHED, NULL);
	}
	KUNIT_EXPECT_EQ(test, isolator_test_shown(test, ic, " queued ", &lines), 10);
	KUNIT_EXPECT_EQ(test, lines, 2);

	/* More of them than there is room for: none is lost from the sum. */
	for (i = 0; i < 2 * ISOLATOR_SENDERS; i++) {
		char comm[TASK_COMM_LEN];

		snprintf(comm, sizeof(comm), "sender %u", i);
		raw_spin_lock_irq(&ic->lock);
		isolator_count_locked(ic, ISOLATOR_COUNT_REFUSED, ISOLATOR_KIND_CALL,
				      isolator_test_b, comm);
		raw_spin_unlock_irq(&ic->lock);
	}
	KUNIT_EXPECT_EQ(test, isolator_test_shown(test, ic, " refused ", &lines),
			ic->counts[ISOLATOR_COUNT_REFUSED]);
	KUNIT_EXPECT_LE(test, lines, ISOLATOR_SENDERS + 1);
}

/* The address of a function of a module that went may be another one's next. */
static void isolator_test_module_goes(struct kunit *test)
{
	struct isolator_cpu *ic = isolator_test_cpu(test);
	struct module *module = kunit_kzalloc(test, sizeof(*module), GFP_KERNEL);
	void *func = module;
	struct isolator_request own = { .func = func, .caller = (unsigned long)func };
	unsigned int lines;

	KUNIT_ASSERT_NOT_NULL(test, module);
	module->state = MODULE_STATE_GOING;
	module->mem[MOD_TEXT].base = module;
	module->mem[MOD_TEXT].size = sizeof(*module);
	ic->senders = isolator_senders_make();
	KUNIT_ASSERT_NOT_NULL(test, ic->senders);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, isolator_test_free_senders,
							ic->senders), 0);
	isolator_test_note_queued(ic, ISOLATOR_KIND_CALL, func);
	isolator_test_note_queued(ic, ISOLATOR_KIND_CALL, isolator_test_a);
	isolator_record_delivery(ic, ISOLATOR_KIND_CALL, &own, 0, false, false);
	isolator_forget_module(ic, module);
	KUNIT_EXPECT_PTR_EQ(test, ic->deliveries[0].request.func, ISOLATOR_FUNC_GONE);
	KUNIT_EXPECT_EQ(test, ic->deliveries[0].request.caller, 0);
	isolator_test_note_queued(ic, ISOLATOR_KIND_CALL, func);
	isolator_test_note_queued(ic, ISOLATOR_KIND_CALL, isolator_test_a);
	/* Two entries of the module's function, one of the kernel's. */
	KUNIT_EXPECT_EQ(test, isolator_test_shown(test, ic, " queued ", &lines), 4);
	KUNIT_EXPECT_EQ(test, lines, 3);
}

static void isolator_test_deliveries_bounded(struct kunit *test)
{
	struct isolator_cpu *ic = isolator_test_cpu(test);
	struct isolator_request req = { .func = isolator_test_a, .cpu = 1 };
	int i;

	raw_spin_lock_irq(&ic->lock);
	for (i = 0; i < ISOLATOR_DELIVERIES + 3; i++) {
		req.pid = i;
		isolator_record_delivery(ic, ISOLATOR_KIND_CALL, &req, i, false, false);
	}
	raw_spin_unlock_irq(&ic->lock);
	KUNIT_EXPECT_EQ(test, ic->nr_deliveries, ISOLATOR_DELIVERIES + 3);
	/* The three oldest fell out, the newest is at its place. */
	KUNIT_EXPECT_EQ(test, ic->deliveries[2].request.pid, ISOLATOR_DELIVERIES + 2);
	KUNIT_EXPECT_EQ(test, ic->deliveries[3].request.pid, 3);
}

static void isolator_test_start_refuses(struct kunit *test)
{
	const struct isolator_start_args good = {
		.size = sizeof(good), .mask = ISOLATOR_MASK_ALL,
	};
	struct isolator_start_args args;

	args = good;
	args.size--;
	KUNIT_EXPECT_EQ(test, isolator_begin(&args), -EINVAL);
	args = good;
	args.mask = 0;
	KUNIT_EXPECT_EQ(test, isolator_begin(&args), -EINVAL);
	args = good;
	args.mask |= ISOLATOR_MASK_ALL + 1;
	KUNIT_EXPECT_EQ(test, isolator_begin(&args), -EINVAL);
	args = good;
	args.flags = ISOLATOR_START_FLAGS + 1;
	KUNIT_EXPECT_EQ(test, isolator_begin(&args), -EINVAL);
	args = good;
	args.spin_ns = ISOLATOR_SPIN_MAX + 1;
	KUNIT_EXPECT_EQ(test, isolator_begin(&args), -ERANGE);
	args = good;
	args.deadline_ns = 1;
	KUNIT_EXPECT_EQ(test, isolator_begin(&args), -ERANGE);
	args = good;
	args.yield_ns = ISOLATOR_YIELD_MAX + 1;
	KUNIT_EXPECT_EQ(test, isolator_begin(&args), -ERANGE);
	args = good;
	args.batch_ns = ISOLATOR_DEADLINE_MIN - 1;
	KUNIT_EXPECT_EQ(test, isolator_begin(&args), -ERANGE);
	args.batch_ns = ISOLATOR_DEADLINE_MAX + 1;
	KUNIT_EXPECT_EQ(test, isolator_begin(&args), -ERANGE);
}

static void isolator_test_without_start(struct kunit *test)
{
	struct isolator_tick_args tick = { .size = sizeof(tick) };
	struct isolator_stop_args stop = { .size = sizeof(stop) };

	KUNIT_EXPECT_EQ(test, isolator_do_tick(&tick), -ESRCH);
	KUNIT_EXPECT_EQ(test, isolator_stop_one(&stop), -ESRCH);
	tick.flags = ISOLATOR_TICK_ALL + 1;
	KUNIT_EXPECT_EQ(test, isolator_do_tick(&tick), -EINVAL);
}

/*
 * User mode and guests leave nothing behind on a CPU that is not tracked, whichever
 * half of the key's sites is patched: not a bit of the word that RCU looks at.
 */
static void isolator_test_untracked(struct kunit *test)
{
	const enum ctx_state states[] = { CT_STATE_USER, CT_STATE_GUEST };
	int changed[4], i, j;

	local_irq_disable();
	/* Only who has memory of its own goes to user mode; kernel threads borrow it. */
	current->mm = current->active_mm;
	for (i = 0; i < 2; i++) {
		for (j = 0; j < 2; j++) {
			atomic_t *state = this_cpu_ptr(&context_tracking.state);
			int before = raw_atomic_read(state);

			__ct_user_enter(states[i]);
			__ct_user_exit(states[j]);
			changed[2 * i + j] = raw_atomic_read(state) - before;
			raw_atomic_set(state, before);
		}
	}
	current->mm = NULL;
	local_irq_enable();
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, changed[i], 0);
}

/* A timer device that nobody can stop is none to isolate a CPU with. */
static void isolator_test_device(struct kunit *test)
{
	int (*stop)(struct clock_event_device *device);
	struct clock_event_device *device;
	bool with, without;

	preempt_disable();
	device = this_cpu_ptr(&tick_cpu_device)->evtdev;
	stop = device->set_state_oneshot_stopped;
	with = tick_isolator_stops();
	device->set_state_oneshot_stopped = NULL;
	without = tick_isolator_stops();
	device->set_state_oneshot_stopped = stop;
	preempt_enable();
	KUNIT_EXPECT_TRUE(test, with);
	KUNIT_EXPECT_FALSE(test, without);
}

static struct kunit_case isolator_cases[] = {
	KUNIT_CASE(isolator_test_timer_next),
	KUNIT_CASE(isolator_test_rule_default),
	KUNIT_CASE(isolator_test_rule_table),
	KUNIT_CASE(isolator_test_avoided),
	KUNIT_CASE(isolator_test_request_oldest),
	KUNIT_CASE(isolator_test_request_settled),
	KUNIT_CASE(isolator_test_kinds_apart),
	KUNIT_CASE(isolator_test_callbacks_bounded),
	KUNIT_CASE(isolator_test_senders_complete),
	KUNIT_CASE(isolator_test_module_goes),
	KUNIT_CASE(isolator_test_deliveries_bounded),
	KUNIT_CASE(isolator_test_start_refuses),
	KUNIT_CASE(isolator_test_without_start),
	KUNIT_CASE(isolator_test_untracked),
	KUNIT_CASE(isolator_test_device),
	{}
};

static struct kunit_suite isolator_suite = {
	.name = "isolator",
	.test_cases = isolator_cases,
};

kunit_test_suite(isolator_suite);

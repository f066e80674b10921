// SPDX-License-Identifier: GPL-2.0-or-later
#include "scene.h"

#include <string.h>

#include "bpf/sum.h"

struct task_struct idle = { .comm = "idle", .flags = PF_KTHREAD };
struct task_struct user = { .pid = 100, .tgid = 100, .comm = "user" };
struct task_struct hog = { .pid = 200, .tgid = 200, .comm = "hog" };
struct task_struct third = { .pid = 300, .tgid = 300, .comm = "third" };
struct task_struct kworker = { .pid = 50, .tgid = 50, .comm = "kworker", .flags = PF_KTHREAD };
struct irqaction action = { "eth0" };
struct hrtimer hrtimer = { (void *)HRTIMER_AT };
struct timer_list timer = { (void *)TIMER_AT };
struct work_struct work = { (void *)WORK_AT };
__u64 began;
bool nmis;

void pass(__u64 ns)
{
	fake.now += ns;
}

struct record_state *state(void)
{
	const void *key;

	return fake_value(programs_states, 0, &key);
}

void turn(struct task_struct *from, struct task_struct *to, bool preempt, unsigned int why)
{
	ALONE(switched(NULL, preempt, from, to, why));
	fake.task = to;
}

void move_away(struct task_struct *task)
{
	fake.cpu = ELSEWHERE;
	ALONE(migrated(NULL, task, ELSEWHERE));
	task->thread_info.cpu = ELSEWHERE;
	fake.cpu = CPU;
}

void set_up(struct task_struct *first)
{
	fake_reset();
	fake.cpu = CPU;
	fake.now = 1000000;
	fake.task = &idle;
	measured_cpus[0] = 1 << CPU;
	threshold_ns = 1;
	of = 0;
	counting = 1;
	user.thread_info.cpu = hog.thread_info.cpu = third.thread_info.cpu = CPU;
	began = fake.now;
	turn(&idle, first, false, 0);
}

void irq(int number, __u64 ns)
{
	HARD(irq_entry(NULL, number, &action));
	pass(ns);
	HARD(irq_exit(NULL, number, &action, 1));
}

void softirq(unsigned int number, __u64 ns)
{
	RUN(softirq_begins(NULL, number));
	pass(ns);
	RUN(softirq_ends(NULL, number));
}

__u64 sum_of(__u32 type, __u64 who, const char *comm)
{
	const struct record_tally *tally;
	__u64 sum = 0, whole[2] = { who };
	const void *at;

	if (comm)
		memcpy(whole, comm, strlen(comm));
	for (unsigned int i = 0; (tally = fake_value(programs_tallies, i, &at)); i++) {
		const struct record_key *key = at;

		if (key->type == type && !memcmp(key->who, whole, sizeof(whole)))
			sum += tally->total_ns;
	}
	return sum;
}

__u64 total(void)
{
	const struct record_state *s = state();
	const struct record_tally *tally;
	const void *key;
	__u64 sum = 0;

	for (unsigned int i = 0; (tally = fake_value(programs_tallies, i, &key)); i++)
		sum += tally->total_ns;
	for (__u32 i = 0; i <= s->depth; i++)
		sum += (i < s->depth ? s->frames[i + 1].since_ns : fake.now) -
			s->frames[i].since_ns - s->frames[i].nested_ns;
	return sum;
}

static void add_loss(struct lost *lost, const struct record_loss *loss, __u64 *end)
{
	__u64 explained = loss->rest_ns;

	for (__u32 i = 0; i < loss->nr_parts; i++)
		explained += loss->parts[i].ns;
	lost->over |= explained > loss->to_ns - loss->from_ns;
	lost->overlap |= loss->from_ns < *end || loss->to_ns <= loss->from_ns;
	lost->ns += loss->to_ns - loss->from_ns;
	lost->explained += explained;
	lost->last = *loss;
	*end = loss->to_ns;
}

struct lost losses(void)
{
	struct record_state last = *state();
	struct record_loss loss;
	struct lost lost = { 0 };
	__u64 end = 0;

	for (unsigned int i = 0; i < fake.told; i++)
		add_loss(&lost, &fake.losses[i], &end);
	if (loss_last(&last, fake.now, &loss))
		add_loss(&lost, &loss, &end);
	return lost;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the programs of isolator-bpf count where threads come and go: one that waits, moves to
 * another CPU, comes back unseen; ends that are not seen; more that goes on than there is room for.
 */
#include "check.h"
#include "fakebpf/scene.h"

#define SIZE(list) (sizeof(list) / sizeof((list)[0]))

static const __u64 lengths[] = { 0, 10, 60, 400 };

static void soft(__u64 ns)
{
	if (ns)
		softirq(3, ns);
}

/* No loss has more parts than it has ns; all had the CPU for as long as there was. */
static struct lost sound(void)
{
	struct lost lost = losses();

	CHECK(!lost.over && !lost.overlap);
	CHECK(total() == fake.now - began);
	return lost;
}

static void test_waiting(void)
{
	struct lost lost;

	set_up(&user);
	pass(100);
	turn(&user, &hog, true, 0);
	pass(50);
	softirq(3, 20);
	turn(&hog, &third, false, 1);
	pass(70);
	irq(24, 5);
	turn(&third, &user, false, 1);
	pass(1000);
	/* It goes by itself: it does not wait. */
	turn(&user, &hog, false, 1);
	pass(200);
	turn(&hog, &user, false, 1);
	lost = sound();
	CHECK(lost.ns == 145 && lost.explained == 145 && !lost.last.moved);
	CHECK(lost.last.pid == user.pid && lost.last.nr_parts == 4);
	CHECK(sum_of(RECORD_PREEMPTION, 0, "hog") == 50);
	CHECK(sum_of(RECORD_PREEMPTION, 0, "third") == 70);
	CHECK(sum_of(RECORD_THREAD, 0, "hog") == 200);
	CHECK(sum_of(RECORD_THREAD, 0, "user") == 1100);
}

/* It leaves while the one before whom it had to wait runs, which softirqs interrupt. */
static void moves(__u64 before, __u64 after, bool another)
{
	struct lost lost;

	set_up(&user);
	pass(100);
	turn(&user, &hog, true, 0);
	if (another) {
		pass(15);
		turn(&hog, &third, false, 1);
	}
	pass(30);
	soft(before);
	pass(20);
	move_away(&user);
	pass(200);
	soft(after);
	pass(50);
	turn(another ? &third : &hog, &kworker, false, 1);
	pass(500);
	lost = sound();
	CHECK(lost.last.moved && lost.last.pid == user.pid);
	CHECK(lost.ns == 50 + before + (another ? 15 : 0));
	CHECK(lost.explained == lost.ns);
	CHECK(sum_of(RECORD_MIGRATION, 0, "user") == 0);
	CHECK(!state()->waiting);
}

static void test_moved(void)
{
	for (size_t i = 0; i < SIZE(lengths); i++)
		for (size_t j = 0; j < SIZE(lengths); j++) {
			moves(lengths[i], lengths[j], false);
			moves(lengths[i], lengths[j], true);
		}
}

/* Who ran last came by a switch that was not seen: the one that waits, or another one. */
static void unseen(__u64 first, __u64 second, struct task_struct *who)
{
	struct lost lost;

	set_up(&user);
	pass(100);
	turn(&user, &hog, true, 0);
	pass(30);
	soft(first);
	pass(40);
	turn(&hog, &third, false, 1);
	pass(300);
	soft(second);
	pass(7);
	turn(who, &kworker, false, 1);
	pass(500);
	turn(&kworker, &user, false, 1);
	lost = sound();
	CHECK(state()->unseen == 1 && lost.last.pid == user.pid);
	/* As far as it is known, or until it is seen to run again. */
	CHECK(lost.ns == 70 + first + second + (who == &user ? 0 : 307 + 500));
	CHECK(lost.explained == lost.ns);
	CHECK(sum_of(who == &user ? RECORD_THREAD : RECORD_PREEMPTION, RECORD_OTHERS, NULL) == 0);
}

static void test_unseen(void)
{
	for (size_t i = 0; i < SIZE(lengths); i++)
		for (size_t j = 0; j < SIZE(lengths); j++) {
			unseen(lengths[i], lengths[j], &user);
			unseen(lengths[i], lengths[j], &(struct task_struct){
				.pid = 400, .tgid = 400, .comm = "fourth" });
		}
}

/* What a thread was amid goes with it, where it moved its end comes elsewhere. */
static void test_kept(void)
{
	set_up(&kworker);
	work_begins(NULL, &work);
	pass(10);
	turn(&kworker, &user, false, 1);
	pass(100);
	turn(&user, &kworker, false, 1);
	CHECK(state()->depth == 1);
	pass(5);
	turn(&kworker, &user, false, 1);
	pass(100);
	kworker.thread_info.cpu = CPU;
	move_away(&kworker);
	turn(&user, &hog, false, 1);
	pass(20);
	turn(&hog, &kworker, false, 1);
	CHECK(!state()->depth);
	CHECK(sum_of(RECORD_WORK, WORK_AT, NULL) == 15);
	sound();
}

/* More that goes on than there is room for: ends that never come. */
static void test_depth(void)
{
	set_up(&user);
	for (int i = 0; i < 2 * RECORD_FRAMES + 5; i++) {
		timer_begins(NULL, &timer);
		pass(2);
		irq(24, 3);
		pass(4);
		CHECK(state()->depth < RECORD_FRAMES);
		CHECK(total() == fake.now - began);
	}
	CHECK(state()->depth == 2 * RECORD_FRAMES + 5 - 2 * (RECORD_FRAMES - 1));
	CHECK(state()->unmatched == 2 * (RECORD_FRAMES - 1));
	for (__u32 i = state()->depth + 1; i < RECORD_FRAMES; i++)
		CHECK(!state()->frames[i].nested_ns);
	/* More than is kept of a thread. */
	turn(&user, &hog, false, 1);
	CHECK(!state()->depth && state()->unmatched == 2 * (RECORD_FRAMES - 1) + 3);
	for (__u32 i = 1; i < RECORD_FRAMES; i++)
		CHECK(!state()->frames[i].nested_ns);
	pass(10);
	turn(&hog, &user, false, 1);
	CHECK(state()->depth == RECORD_KEPT);
	sound();
}

static const struct test tests[] = {
	{ "a thread that waits", test_waiting },
	{ "a thread that waits and moves", test_moved },
	{ "a switch that was not seen", test_unseen },
	{ "what a thread is amid", test_kept },
	{ "ends that never come", test_depth },
};

int main(void)
{
	return check_run(tests, SIZE(tests));
}

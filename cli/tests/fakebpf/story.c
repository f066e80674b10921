// SPDX-License-Identifier: GPL-2.0-or-later
#include "story.h"

#define GAP 500			/* losses that are less apart are one */

static void come_irq(void)
{
	irq_entry(NULL, 24, &action);
	pass(LONG);
	irq_exit(NULL, 24, &action, 1);
}

static void come_timer(void)
{
	local_timer_begins(NULL, 0);
	pass(3);
	hrtimer_begins(NULL, &hrtimer);
	pass(LONG - 5);
	hrtimer_ends(NULL, &hrtimer);
	pass(2);
	local_timer_ends(NULL, 0);
}

static void come_softirq(void)
{
	irq_entry(NULL, 24, &action);
	pass(LONG - 30);
	irq_exit(NULL, 24, &action, 1);
	softirq_begins(NULL, 9);
	pass(30);
	softirq_ends(NULL, 9);
}

static void come_nmi(void)
{
	pass(LONG);
	nmi(NULL, (void *)HANDLER_AT, LONG, 1);
}

const struct interruption interruptions[] = {
	{ "irq", come_irq, { { RECORD_IRQ, 24, LONG, NULL } }, false, false },
	{ "timer", come_timer, { { RECORD_VECTOR, RECORD_LOCAL_TIMER, 5, NULL },
				 { RECORD_HRTIMER, HRTIMER_AT, LONG - 5, NULL } }, false, false },
	{ "irq and softirq", come_softirq, { { RECORD_IRQ, 24, LONG - 30, NULL },
					     { RECORD_SOFTIRQ, 9, 30, NULL } }, false, true },
	{ "NMI", come_nmi, { { RECORD_NMI, HANDLER_AT, LONG, NULL } }, true, false },
};

const size_t nr_interruptions = sizeof(interruptions) / sizeof(interruptions[0]);

static void happen_softirq(void)
{
	pass(100);
	softirq(3, 20);
	pass(100);
}

static void happen_nested(void)
{
	RUN(softirq_begins(NULL, 1));
	pass(10);
	RUN(timer_begins(NULL, &timer));
	pass(7);
	RUN(timer_ends(NULL, &timer));
	pass(5);
	RUN(softirq_ends(NULL, 1));
}

static void happen_apart(void)
{
	softirq(3, 20);
	pass(5000);
	softirq(3, 30);
}

static void happen_together(void)
{
	softirq(3, 20);
	pass(GAP);
	softirq(4, 30);
}

static void happen_unseen_end(void)
{
	RUN(softirq_begins(NULL, 1));
	pass(10);
	RUN(timer_begins(NULL, &timer));
	pass(7);
	irq(30, 40);
	pass(5);
	RUN(softirq_ends(NULL, 1));
	pass(5000);
	/* Nothing of that is left where the next ones are. */
	happen_nested();
}

/* More than a loss has room for. */
static void happen_crowd(void)
{
	RUN(softirq_begins(NULL, 1));
	for (int i = 0; i < RECORD_PARTS + 2; i++)
		irq(100 + i, i == 7 ? 10 : 50 + (__u64)i);
	pass(55);
	RUN(softirq_ends(NULL, 1));
}

static void happen_work(void)
{
	pass(100);
	RUN(work_begins(NULL, &work));
	pass(30);
	RUN(work_ends(NULL, &work));
	pass(100);
}

/* Work waits for something, and another thread runs meanwhile. */
static void happen_blocked(void)
{
	RUN(work_begins(NULL, &work));
	pass(10);
	turn(&kworker, &user, false, 1);
	pass(400);
	softirq(3, 20);
	pass(5000);
	turn(&user, &kworker, true, 0);
	pass(5);
	RUN(work_ends(NULL, &work));
	pass(7);
	turn(&kworker, &user, false, 1);
	pass(100);
}

static void happen_preempted(void)
{
	pass(100);
	turn(&user, &hog, true, 0);
	pass(50);
	softirq(3, 20);
	pass(30);
	turn(&hog, &user, false, 1);
	pass(10);
}

const struct story stories[] = {
	{ .name = "softirq", .happen = happen_softirq, .first = &user, .soft = true,
	  .wants = { { RECORD_SOFTIRQ, 3, 20, NULL } }, .lost = 20 },
	{ .name = "the first that is seen", .happen = happen_nested, .first = &user, .soft = true,
	  .unknown = true, .lost = 22,
	  .wants = { { RECORD_SOFTIRQ, 1, 15, NULL }, { RECORD_TIMER, TIMER_AT, 7, NULL } } },
	{ .name = "timer in softirq", .happen = happen_nested, .first = &user, .soft = true,
	  .wants = { { RECORD_SOFTIRQ, 1, 15, NULL }, { RECORD_TIMER, TIMER_AT, 7, NULL } },
	  .lost = 22 },
	{ .name = "two losses", .happen = happen_apart, .first = &user, .soft = true,
	  .wants = { { RECORD_SOFTIRQ, 3, 50, NULL } }, .lost = 50 },
	{ .name = "one of two", .happen = happen_together, .first = &user, .soft = true,
	  .wants = { { RECORD_SOFTIRQ, 3, 20, NULL }, { RECORD_SOFTIRQ, 4, 30, NULL } },
	  .lost = 50 + GAP, .unexplained = GAP },
	{ .name = "an end is not seen", .happen = happen_unseen_end, .first = &user, .soft = true,
	  .wants = { { RECORD_SOFTIRQ, 1, 22 + 15, NULL }, { RECORD_IRQ, 30, 40, NULL },
		     { RECORD_TIMER, TIMER_AT, 7, NULL } },
	  .lost = 62 + 22, .unmatched = 1 },
	{ .name = "more parts than room", .happen = happen_crowd, .first = &user, .soft = true,
	  .wants = { { RECORD_SOFTIRQ, 1, 55, NULL }, { RECORD_IRQ, 100, 50, NULL },
		     { RECORD_IRQ, 107, 10, NULL }, { RECORD_IRQ, 117, 67, NULL } },
	  .lost = 55 + 18 * 50 + 17 * 18 / 2 - 47 },
	{ .name = "work", .happen = happen_work, .first = &kworker, .free = "work_",
	  .wants = { { RECORD_WORK, WORK_AT, 30, NULL } } },
	{ .name = "work that waits", .happen = happen_blocked, .first = &kworker, .soft = true,
	  .free = "work_begins",
	  .wants = { { RECORD_WORK, WORK_AT, 15, NULL }, { RECORD_SOFTIRQ, 3, 20, NULL },
		     { RECORD_THREAD, 0, 5400, "user" }, { RECORD_PREEMPTION, 0, 7, "kworker" } },
	  .lost = 20 + 12 },
	{ .name = "preemption", .happen = happen_preempted, .first = &user, .soft = true,
	  .wants = { { RECORD_SOFTIRQ, 3, 20, NULL }, { RECORD_THREAD, 0, 100, "user" },
		     { RECORD_PREEMPTION, 0, 80, "hog" } }, .lost = 100 },
};

const size_t nr_stories = sizeof(stories) / sizeof(stories[0]);

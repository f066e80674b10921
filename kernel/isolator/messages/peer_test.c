// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: KUnit tests of a peer that writes to the ring while it is looked at. */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/smp.h>

#include <asm/barrier.h>

#include "messages.h"

#define SLOTS		16U

/* A peer that is always one step ahead: the next slot begins a message when its turn comes. */
static u64 isolator_test_ahead(struct isolator_poster *tx, u64 word)
{
	u64 next = (word & ISOLATOR_RING_NUMBER) + ISOLATOR_RING_ONE;

	tx->ring[isolator_ring_index(next, tx->mask)].word =
		next | ISOLATOR_RING_FIRST | ISOLATOR_RING_MORE | ISOLATOR_RING_PAYLOAD;
	(*(unsigned int *)kunit_get_current_test()->priv)++;
	return tx->mask + 1;
}

/* Slots that were seen as one's parts begin none any more: else a ring takes its square. */
static void isolator_test_peer_ahead(struct kunit *test)
{
	struct isolator_rings *rings = isolator_rings_make(SLOTS, 0, 0);
	struct isolator_slot *ring;
	struct isolator_port *port;
	unsigned int walks = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(rings));
	ring = rings->memory + ISOLATOR_RING_HEADER;
	ring->word = ISOLATOR_RING_FIRST | ISOLATOR_RING_MORE | ISOLATOR_RING_PAYLOAD;
	test->priv = &walks;
	kunit_activate_static_stub(test, isolator_message_slots, isolator_test_ahead);
	port = isolator_port_open(rings, ISOLATOR_PORT_A);
	kunit_deactivate_static_stub(test, isolator_message_slots);
	KUNIT_ASSERT_FALSE(test, IS_ERR(port));
	KUNIT_EXPECT_EQ(test, walks, 1);
	isolator_port_close(port);
	isolator_rings_put(rings);
}

struct isolator_test_liar {
	struct isolator_slot *ring;
	u64 begun, done;	/* 1 + the number: that it is to write, that it has written */
};

/* Writes a message of its number, and soon what is none over it. */
static int isolator_test_liar(void *data)
{
	struct isolator_test_liar *liar = data;
	struct isolator_slot *slot;
	unsigned int i, delay = 0;
	u64 number;

	while (!kthread_should_stop()) {
		/* Pairs with who has told it. */
		number = smp_load_acquire(&liar->begun) - 1;
		if (number == liar->done - 1) {
			cond_resched();
			continue;
		}
		slot = &liar->ring[isolator_ring_index(number, SLOTS - 1)];
		for (i = 0; i < ISOLATOR_RING_WORDS; i++)
			WRITE_ONCE(slot->payload[i], number);
		/* Pairs with the acquire of the receiver. */
		smp_store_release(&slot->word,
				  number | ISOLATOR_RING_FIRST | ISOLATOR_RING_PAYLOAD);
		for (i = delay++ % 64; i; i--)
			barrier();
		WRITE_ONCE(slot->word, number);
		smp_wmb(); /* as isolator_write_slot() */
		for (i = 0; i < ISOLATOR_RING_WORDS; i++)
			WRITE_ONCE(slot->payload[i], ~number);
		smp_store_release(&liar->done, number + 1); /* pairs with who waits for it */
	}
	return 0;
}

/* One slot.  Returns whether its message was handed out; counts in @torn if it was spoilt. */
static bool isolator_test_lie(struct kunit *test, struct isolator_port *port,
			      struct isolator_test_liar *liar, unsigned int *torn)
{
	u64 i, number = port->lanes->next;
	struct isolator_message message;
	bool over, whole = true;
	int ret;

	smp_store_release(&liar->begun, number + 1); /* pairs with isolator_test_liar() */
	do {
		over = smp_load_acquire(&liar->done) == number + 1; /* as above */
		ret = isolator_port_receive(port, &message);
		cond_resched();
	} while (!ret && !over);
	for (i = 0; ret && message.data && i < ISOLATOR_RING_WORDS; i++)
		whole &= ((const u64 *)message.data)[i] == number;
	*torn += !whole;
	while (smp_load_acquire(&liar->done) != number + 1) /* as above */
		cond_resched();
	if (!ret) {
		liar->ring[isolator_ring_index(number, SLOTS - 1)].word =
			number | ISOLATOR_RING_VOID;
		KUNIT_EXPECT_EQ(test, isolator_port_receive(port, &message), 1);
	}
	KUNIT_EXPECT_EQ(test, port->lanes->next, number + ISOLATOR_RING_ONE);
	return ret && message.data;
}

/* A slot that changes while it is copied: what is handed out was there as a whole. */
static void isolator_test_peer_changes(struct kunit *test)
{
	static struct isolator_test_liar liar;
	unsigned long end = jiffies + HZ / 2;
	unsigned int came = 0, torn = 0, i;
	struct isolator_port_stat stat;
	struct isolator_rings *rings;
	struct isolator_port *port;
	struct task_struct *thread;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	rings = isolator_rings_make(SLOTS, 0, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rings));
	port = isolator_port_open(rings, ISOLATOR_PORT_B);
	KUNIT_ASSERT_FALSE(test, IS_ERR(port));
	KUNIT_ASSERT_EQ(test, isolator_port_use(port), 0);
	liar = (struct isolator_test_liar){ .ring = port->lanes->ring };
	thread = kthread_run_on_cpu(isolator_test_liar, &liar,
				    cpumask_any_but(cpu_online_mask, raw_smp_processor_id()),
				    "isolator_test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	for (i = 0; i < 100000 && time_before(jiffies, end); i++)
		came += isolator_test_lie(test, port, &liar, &torn);
	kthread_stop(thread);
	isolator_port_stat(port, 0, &stat);
	kunit_info(test, "%u slots: %u messages, %llu slots were none any more\n", i, came,
		   stat.invalid);
	KUNIT_EXPECT_EQ(test, torn, 0);
	isolator_port_close(port);
	isolator_rings_put(rings);
}

static struct kunit_case isolator_peer_cases[] = {
	KUNIT_CASE(isolator_test_peer_ahead),
	KUNIT_CASE(isolator_test_peer_changes),
	{ }
};

static struct kunit_suite isolator_peer_suite = {
	.name = "isolator_peer",
	.test_cases = isolator_peer_cases,
};

kunit_test_suite(isolator_peer_suite);

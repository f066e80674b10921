// SPDX-License-Identifier: GPL-2.0-or-later
/* The quiet section of lab_traffic, and what it counts. */
#include <linux/isolator_caller.h>
#include <linux/isolator_messages.h>
#include <linux/isolator_pool.h>
#include <linux/module.h>
#include <linux/string.h>

#include "traffic.h"

#define AT_ONCE	64U	/* operations between two looks whether a tick is due */

static unsigned long rounds, stays;
module_param(rounds, ulong, 0444);
module_param(stays, ulong, 0444);

/* Of what came: messages, their disorder, the longest; gaps, and what was in them. */
static unsigned long received, posted, wrong, longest, gaps, lost;
module_param(received, ulong, 0444);
module_param(posted, ulong, 0444);
module_param(wrong, ulong, 0444);
module_param(longest, ulong, 0444);
module_param(gaps, ulong, 0444);
module_param(lost, ulong, 0444);

/* The same of one sender. */
static u64 sender_received, sender_wrong, sender_gaps;
module_param(sender_received, ullong, 0444);
module_param(sender_wrong, ullong, 0444);
module_param(sender_gaps, ullong, 0444);

struct traffic now;

static __always_inline void add(unsigned long *count, unsigned long more)
{
	WRITE_ONCE(*count, *count + more);
}

/* Messages are numbered by their first word, from 0 on; what is short has no number. */
static __always_inline void note(const struct isolator_message *message)
{
	struct traffic_sender *sender = &now.senders[message->sender % ISOLATOR_RING_POSTERS];
	u64 number;

	if (message->type == ISOLATOR_MESSAGE_GAP) {
		sender->gaps++;
		add(&gaps, 1);
		add(&lost, message->slots);
		return;
	}
	if (message->length > longest)
		WRITE_ONCE(longest, message->length);
	if (message->length >= sizeof(number)) {
		number = READ_ONCE(*(const u64 *)message->data);
		if (number != sender->expected) {
			sender->wrong++;
			add(&wrong, 1);
		}
		sender->expected = number + 1;
	}
	sender->received++;
	add(&received, 1);
}

static __always_inline void echo(void)
{
	if (!now.pending) {
		if (isolator_port_receive(now.port, &now.message) != 1)
			return;
		note(&now.message);
		if (now.message.type == ISOLATOR_MESSAGE_GAP)
			return;
		now.pending = true;
	}
	/* Its data stays until the next one is received. */
	if (isolator_port_post(now.port, now.message.type, now.message.data, now.message.length))
		return;
	now.pending = false;
	add(&posted, 1);
}

static __always_inline void post_number(void)
{
	if (isolator_port_post(now.port, 1, &now.number, sizeof(now.number)))
		return;
	now.number++;
	add(&posted, 1);
}

static __always_inline void pairs(void)
{
	unsigned int i;
	void *object;

	for (i = 0; i < AT_ONCE && now.left; i++, now.left--) {
		object = isolator_pool_alloc(now.pool);
		if (!object || isolator_pool_free(now.pool, object))
			now.failed++;
	}
}

/* Each object that the pool has to give goes out; what came back is collected first. */
static __always_inline void churn(void)
{
	void *object;

	isolator_pool_collect(now.pool, AT_ONCE);
	if (!now.left)
		return;
	object = isolator_pool_alloc(now.pool);
	if (!object)
		return;
	WRITE_ONCE(*(u64 *)object, now.number);
	if (isolator_port_post(now.port, 1, &object, sizeof(object))) {
		isolator_pool_free(now.pool, object);
		return;
	}
	now.number++;
	WRITE_ONCE(now.left, now.left - 1);
}

static __always_inline void one_round(void)
{
	struct isolator_message message;

	if (now.work == WORK_ECHO)
		echo();
	else if (now.work == WORK_LISTEN && isolator_port_receive(now.port, &message) == 1)
		note(&message);
	else if (now.work == WORK_POST)
		post_number();
	else if (now.work == WORK_PAIRS)
		pairs();
	else if (now.work == WORK_CHURN)
		churn();
}

/* All that runs with the CPU quiet. */
noinstr int traffic_poll(struct isolator_caller *caller)
{
	const u32 *due = caller->due;
	int ret;

	ret = isolator_quiet_enter(caller);
	if (ret)
		return ret;
	add(&stays, 1);
	while (!isolator_quiet_due(due)) {
		add(&rounds, 1);
		one_round();
		cpu_relax();
	}
	isolator_quiet_leave(caller);
	return 0;
}

int traffic_tell_sender(unsigned int number)
{
	const struct traffic_sender *sender = &now.senders[number];

	if (number >= ISOLATOR_RING_POSTERS)
		return -EINVAL;
	sender_received = READ_ONCE(sender->received);
	sender_wrong = READ_ONCE(sender->wrong);
	sender_gaps = READ_ONCE(sender->gaps);
	return 0;
}

/* From the next section on; out of one. */
void traffic_begin(enum work work, struct isolator_port *port, unsigned long left)
{
	struct isolator_pool *pool = now.pool;

	memset(&now, 0, sizeof(now));
	received = posted = wrong = longest = gaps = lost = 0;
	now.pool = pool;
	now.work = work;
	now.port = port;
	now.left = left;
}

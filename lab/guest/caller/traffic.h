/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of lab_traffic share. */
#ifndef LAB_TRAFFIC_H
#define LAB_TRAFFIC_H

#include <linux/isolator_messages.h>
#include <linux/types.h>

struct isolator_caller;
struct isolator_pool;

enum work { WORK_NONE, WORK_ECHO, WORK_LISTEN, WORK_POST, WORK_PAIRS, WORK_CHURN };

/* What the thread works on: changed by itself only, between two sections. */
struct traffic {
	enum work	work;
	struct isolator_port *port;
	struct isolator_pool *pool;
	unsigned long	left;
	unsigned int	failed;
	bool		pending;	/* @message is to be posted back */
	struct isolator_message message;
	u64		number;
	struct traffic_sender {
		u64	expected, received, wrong, gaps;
	} senders[ISOLATOR_RING_POSTERS];
};

extern struct traffic now;

/* traffic_section.c */
int traffic_poll(struct isolator_caller *caller);
int traffic_tell_sender(unsigned int number);
void traffic_begin(enum work work, struct isolator_port *port, unsigned long left);

/* traffic_own.c */
int traffic_own_begin(u64 bound_ns);
int traffic_own_work(unsigned int kind, unsigned int count);
void traffic_own_end(void);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: tc-ingress
 * row: 1
 * class: defer
 * kind: program
 * notick: no
 * about: a classifier is put on the loopback device's input, as tc does, and taken away
 */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include "loopback.h"
#include "modules.h"
#include "netlink.h"
#include "trigger.h"

enum { ROUNDS = 4 };

static int fd;

static void ask(int type, int flags, const char *kind)
{
	struct nl_batch b = { .size = 0 };
	struct tcmsg tc = {
		.tcm_ifindex = LOOPBACK_INDEX,
		.tcm_parent = TC_H_CLSACT,
		.tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0),
	};

	nl_message(&b, type, flags | NLM_F_ACK, &tc, sizeof(tc));
	nl_attr_text(&b, TCA_KIND, kind);
	errno = nl_talk(fd, &b);
	need(!errno);
}

/* Does the kernel list a discipline of this kind for the loopback device? */
static bool listed(const char *kind)
{
	_Alignas(struct nlmsghdr) char buf[8192];
	struct tcmsg tc = { .tcm_ifindex = LOOPBACK_INDEX };
	struct nl_batch b = { .size = 0 };
	bool found = false;

	nl_message(&b, RTM_GETQDISC, NLM_F_DUMP, &tc, sizeof(tc));
	need(send(fd, b.bytes, b.size, 0) == (ssize_t)b.size);
	for (;;) {
		int n = (int)recv(fd, buf, sizeof(buf), 0);
		struct nlmsghdr *head = (void *)buf;

		need(n > 0);
		for (; NLMSG_OK(head, n); head = NLMSG_NEXT(head, n)) {
			struct tcmsg *have = NLMSG_DATA(head);
			int left = (int)TCA_PAYLOAD(head);

			if (head->nlmsg_type == NLMSG_DONE)
				return found;
			if (have->tcm_ifindex != LOOPBACK_INDEX)
				continue;
			for (struct rtattr *a = TCA_RTA(have); RTA_OK(a, left);
			     a = RTA_NEXT(a, left))
				found |= a->rta_type == TCA_KIND &&
					 !strcmp(RTA_DATA(a), kind);
		}
	}
}

int main(void)
{
	static const char *const kinds[] = { "clsact", "ingress" };
	int there = 0, gone = 0;

	if (!module_load("sch_ingress"))
		answer(false, "done", "missing: sch_ingress.ko");
	fd = nl_open(NETLINK_ROUTE);
	need(fd >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		const char *kind = kinds[i % 2];

		ask(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, kind);
		there += listed(kind);
		ask(RTM_DELQDISC, 0, kind);
		gone += !listed(kind);
	}
	if (!module_unload("sch_ingress"))
		answer(false, "done", "sch_ingress does not go");
	answer(there == ROUNDS && gone == ROUNDS, "done",
	       "%d added and %d deleted of %d", there, gone, ROUNDS);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: nft-hook
 * row: 1, 67
 * class: defer
 * kind: program
 * notick: no
 * about: an unprivileged process sets a packet filter in a network namespace of its own
 */
#include "loopback.h"	/* libc's definitions of addresses come before the kernel's */
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nf_tables.h>
#include "modules.h"
#include "netlink.h"
#include "trigger.h"

enum { ROUNDS = 3, MODULES = 3, NOBODY = 65534 };

static const char *const modules[MODULES] = { "cryptomgr", "crc32c_generic", "nf_tables" };

static int fd;

static void part(struct nl_batch *b, int type, int flags)
{
	struct nfgenmsg family = { .nfgen_family = NFPROTO_IPV4 };

	nl_message(b, NFNL_SUBSYS_NFTABLES << 8 | type, flags, &family, sizeof(family));
}

static void edge(struct nl_batch *b, int type)
{
	struct nfgenmsg family = { .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	nl_message(b, type, 0, &family, sizeof(family));
}

static void commit(struct nl_batch *b)
{
	edge(b, NFNL_MSG_BATCH_END);
	errno = nl_talk(fd, b);
	need(!errno);
}

/* A chain that drops whatever is sent. */
static void add(void)
{
	uint32_t hook = htonl(NF_INET_LOCAL_OUT), priority = 0, policy = htonl(NF_DROP);
	struct nl_batch b = { .size = 0 };
	struct nlattr *nest;

	edge(&b, NFNL_MSG_BATCH_BEGIN);
	part(&b, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
	nl_attr_text(&b, NFTA_TABLE_NAME, "lab");
	part(&b, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
	nl_attr_text(&b, NFTA_CHAIN_TABLE, "lab");
	nl_attr_text(&b, NFTA_CHAIN_NAME, "out");
	nest = nl_nest(&b, NFTA_CHAIN_HOOK);
	nl_attr(&b, NFTA_HOOK_HOOKNUM, &hook, sizeof(hook));
	nl_attr(&b, NFTA_HOOK_PRIORITY, &priority, sizeof(priority));
	nl_nest_end(&b, nest);
	nl_attr(&b, NFTA_CHAIN_POLICY, &policy, sizeof(policy));
	nl_attr_text(&b, NFTA_CHAIN_TYPE, "filter");
	commit(&b);
}

static void delete(void)
{
	struct nl_batch b = { .size = 0 };

	edge(&b, NFNL_MSG_BATCH_BEGIN);
	part(&b, NFT_MSG_DELTABLE, NLM_F_ACK);
	nl_attr_text(&b, NFTA_TABLE_NAME, "lab");
	commit(&b);
}

/* Exits with 0 when each filter held back what was sent, and only it. */
static void unprivileged(void)
{
	int dropped = 0, passed = 0;
	struct loopback lo;

	need(!setgid(NOBODY) && !setuid(NOBODY));
	need(!unshare(CLONE_NEWUSER | CLONE_NEWNET));
	need(!loopback_open(&lo));
	fd = nl_open(NETLINK_NETFILTER);
	need(fd >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		add();
		dropped += send(lo.from, "", 1, 0) < 0 && errno == EPERM;
		delete();
		passed += loopback_passes(&lo);
	}
	if (dropped == ROUNDS && passed == ROUNDS)
		_exit(0);
	answer(false, "done", "%d dropped and %d passed, of %d", dropped, passed, ROUNDS);
}

int main(void)
{
	int status;
	pid_t child;

	/* In this order: what is needed is looked for when the next one begins. */
	for (int i = 0; i < MODULES; i++)
		if (!module_load(modules[i]))
			answer(false, "done", "missing: %s.ko", modules[i]);
	child = fork();
	need(child >= 0);
	if (!child)
		unprivileged();
	need(waitpid(child, &status, 0) == child);
	for (int i = MODULES - 1; i >= 0; i--)
		if (!module_unload(modules[i]))
			answer(false, "done", "%s does not go", modules[i]);
	if (status)
		return 1;	/* the child has answered */
	answer(true, "done", "%d filters held a message back", ROUNDS);
}

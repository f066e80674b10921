/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Netlink messages: put together, sent, and their acknowledgements taken in. */
#ifndef LAB_NETLINK_H
#define LAB_NETLINK_H

#include <errno.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* One datagram, of one message or several. */
struct nl_batch {
	_Alignas(struct nlmsghdr) char bytes[4096];
	size_t size;
	struct nlmsghdr *last;
	int acks;	/* how many messages ask for one */
};

static inline void *nl_room(struct nl_batch *b, size_t size)
{
	void *at = b->bytes + b->size;

	b->size += NLMSG_ALIGN(size);
	return memset(at, 0, NLMSG_ALIGN(size));
}

/* Begins a message with the fixed header of its family. */
static inline void nl_message(struct nl_batch *b, int type, int flags,
			      const void *family, size_t size)
{
	struct nlmsghdr *head = nl_room(b, NLMSG_HDRLEN);

	head->nlmsg_type = (uint16_t)type;
	head->nlmsg_flags = (uint16_t)(flags | NLM_F_REQUEST);
	memcpy(nl_room(b, size), family, size);
	head->nlmsg_len = (uint32_t)(NLMSG_HDRLEN + NLMSG_ALIGN(size));
	b->last = head;
	b->acks += !!(flags & NLM_F_ACK);
}

/* Adds an attribute to the last message. */
static inline struct nlattr *nl_attr(struct nl_batch *b, int type,
				     const void *data, size_t size)
{
	struct nlattr *attr = nl_room(b, NLA_HDRLEN + size);

	attr->nla_type = (uint16_t)type;
	attr->nla_len = (uint16_t)(NLA_HDRLEN + size);
	if (size)
		memcpy((char *)attr + NLA_HDRLEN, data, size);
	b->last->nlmsg_len = (uint32_t)(b->bytes + b->size - (char *)b->last);
	return attr;
}

static inline void nl_attr_text(struct nl_batch *b, int type, const char *text)
{
	nl_attr(b, type, text, strlen(text) + 1);
}

/* What is added from here on goes into this attribute, until nl_nest_end(). */
static inline struct nlattr *nl_nest(struct nl_batch *b, int type)
{
	return nl_attr(b, type | NLA_F_NESTED, NULL, 0);
}

static inline void nl_nest_end(struct nl_batch *b, struct nlattr *nest)
{
	nest->nla_len = (uint16_t)(b->bytes + b->size - (char *)nest);
}

static inline int nl_open(int protocol)
{
	struct timeval limit = { .tv_sec = 5 };
	int fd = socket(AF_NETLINK, SOCK_RAW, protocol);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

/* Sends, and waits for all that was asked to be acknowledged; 0 or an errno. */
static inline int nl_talk(int fd, struct nl_batch *b)
{
	_Alignas(struct nlmsghdr) char buf[8192];
	struct nlmsghdr *head;
	int error = 0;

	if (send(fd, b->bytes, b->size, 0) != (ssize_t)b->size)
		return errno;
	while (b->acks > 0) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n < 0)
			return errno;
		for (head = (void *)buf; NLMSG_OK(head, n); head = NLMSG_NEXT(head, n)) {
			struct nlmsgerr *e = NLMSG_DATA(head);

			if (head->nlmsg_type != NLMSG_ERROR)
				continue;
			if (e->error && !error)
				error = -e->error;
			b->acks--;
		}
	}
	return error;
}

#endif

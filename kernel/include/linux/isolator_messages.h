/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolator for code of the kernel: messages between a quiet section and user mode, or another
 * thread of the kernel.  The channels and inboxes are those of libisolator; their memory is laid
 * out as <uapi/linux/isolator_ring.h> says.  Nobody is woken up: a receiver looks.
 * Documentation/core-api/isolator.rst has the rules.
 */
#ifndef _LINUX_ISOLATOR_MESSAGES_H
#define _LINUX_ISOLATOR_MESSAGES_H

#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <uapi/linux/isolator_ring.h>

struct isolator_port;
struct isolator_rings;

/* Ends: of a channel these two; of an inbox a poster's number, below its posters, and this. */
#define ISOLATOR_PORT_A		0U
#define ISOLATOR_PORT_B		1U
#define ISOLATOR_PORT_RECEIVER	(~0U)

/* isolator_message.type of no message: slots of the poster that were not handled here. */
#define ISOLATOR_MESSAGE_GAP	256U

/**
 * struct isolator_message - what isolator_port_receive() has found
 * @data: a private copy, aligned to 8 bytes, good until the next receive; NULL of a gap
 * @length: of it in bytes, at most isolator_rings_message_bytes(): a message of one slot may have
 *	56, also where the rings' message_bytes are fewer
 * @type: 0 to 255 as its poster says, or ISOLATOR_MESSAGE_GAP
 * @sender: of an inbox the poster; 0 of a channel
 * @first: of a gap the number of the first slot, modulo 2^48
 * @slots: of a gap how many were lost; a message of up to 56 bytes is one
 */
struct isolator_message {
	const void	*data;
	u32		length;
	u16		type;
	u16		sender;
	u64		first;
	u64		slots;
};

/**
 * struct isolator_port_stat - what an end, or a lane of it, did since it was opened
 * @posted: messages posted
 * @full: posts that found the ring full
 * @received: messages received
 * @gaps: gaps received
 * @lost: slots in them
 * @invalid: slots passed over because what they held was no message
 * @resyncs: how often this end went on at another number, as the peer, or the memory, said
 */
struct isolator_port_stat {
	u64	posted;
	u64	full;
	u64	received;
	u64	gaps;
	u64	lost;
	u64	invalid;
	u64	resyncs;
};

#ifdef CONFIG_ISOLATOR_MESSAGES

struct isolator_rings *isolator_rings_get(int fd, u64 max_bytes);
struct isolator_rings *isolator_rings_make(u32 slots, u32 message_bytes, u32 posters);
void isolator_rings_put(struct isolator_rings *rings);
unsigned int isolator_rings_posters(const struct isolator_rings *rings);
u32 isolator_rings_message_bytes(const struct isolator_rings *rings);

struct isolator_port *isolator_port_open(struct isolator_rings *rings, unsigned int end);
void isolator_port_close(struct isolator_port *port);
int isolator_port_use(struct isolator_port *port);
int isolator_port_held(struct isolator_port *port, unsigned int end);
int isolator_port_stat(const struct isolator_port *port, unsigned int sender,
		       struct isolator_port_stat *stat);
int isolator_port_post(struct isolator_port *port, unsigned int type, const void *data,
		       size_t length);
int isolator_port_receive(struct isolator_port *port, struct isolator_message *message);

#else

static inline struct isolator_rings *isolator_rings_get(int fd, u64 max_bytes)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline struct isolator_rings *isolator_rings_make(u32 slots, u32 message_bytes,
							 u32 posters)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void isolator_rings_put(struct isolator_rings *rings) { }
static inline unsigned int isolator_rings_posters(const struct isolator_rings *rings)
{
	return 0;
}

static inline u32 isolator_rings_message_bytes(const struct isolator_rings *rings)
{
	return 0;
}

static inline struct isolator_port *isolator_port_open(struct isolator_rings *rings,
						       unsigned int end)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void isolator_port_close(struct isolator_port *port) { }
static inline int isolator_port_use(struct isolator_port *port) { return -EOPNOTSUPP; }
static inline int isolator_port_held(struct isolator_port *port, unsigned int end)
{
	return -EOPNOTSUPP;
}

static inline int isolator_port_stat(const struct isolator_port *port, unsigned int sender,
				     struct isolator_port_stat *stat)
{
	return -EOPNOTSUPP;
}

static inline int isolator_port_post(struct isolator_port *port, unsigned int type,
				     const void *data, size_t length)
{
	return -EOPNOTSUPP;
}

static inline int isolator_port_receive(struct isolator_port *port,
					struct isolator_message *message)
{
	return -EOPNOTSUPP;
}

#endif

#endif /* _LINUX_ISOLATOR_MESSAGES_H */

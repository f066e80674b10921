/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One TCP connection of a host: frames in, frames out, nothing waits. */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "message.h"

#define LINK_FRAME (FRAME_HEAD + FRAME_PAYLOAD_MAX)
#define LINK_OUT (4 * LINK_FRAME)
#define LINK_RESERVE 4096	/* of the output, for all but packets */

struct link {
	int socket;
	bool welcomed;		/* its HELLO was accepted */
	bool ending;		/* closed once all is sent */
	uint64_t since_ns;
	uint64_t next_packet;
	uint32_t sequence_in, sequence_out;
	size_t in_used, out_begin, out_end;
	uint8_t in[LINK_FRAME];
	uint8_t out[LINK_OUT];
};

/* NULL: no memory; the socket is closed. */
struct link *link_open(int socket, uint64_t now);
void link_close(struct link *link);

/* Takes what has come.  False: the connection has ended, or is none of this protocol. */
bool link_read(struct link *link);

/*
 * The oldest frame that has come; valid until the next call.  1: @frame, 0: none yet, -1: it
 * is none of this protocol.
 */
int link_frame(struct link *link, struct frame *frame, size_t *length);

/* Done with it. */
void link_done(struct link *link, size_t length);

/* How much can be added to the output. */
size_t link_room(struct link *link);

/* Where, and that @size bytes were; they are one frame. */
uint8_t *link_place(struct link *link);
void link_added(struct link *link, size_t size);

/* Precondition: there is room for it. */
void link_send(struct link *link, const struct message *message);

/* Sends what it can.  False: the connection has ended. */
bool link_flush(struct link *link);

#endif

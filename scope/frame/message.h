/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages, the payloads of frames (docs/scope-protocol.md); records are in record.h. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#define MESSAGE_NAME 16		/* bytes of a line's name */
#define MESSAGE_LINE 32		/* bytes of a line's account */
#define MESSAGE_TEXT_MAX 512	/* bytes of an ACK's text */

enum message_type {
	MESSAGE_HELLO = 0x01,
	MESSAGE_SET_FREQUENCY = 0x02,
	MESSAGE_SET_DUTY = 0x03,
	MESSAGE_SET_PACKET = 0x04,
	MESSAGE_SET_PHASE = 0x05,
	MESSAGE_SET_LINES = 0x06,
	MESSAGE_SET_BURST = 0x07,
	MESSAGE_SET_PATIENCE = 0x08,
	MESSAGE_START = 0x09,
	MESSAGE_STOP = 0x0a,
	MESSAGE_CALIBRATE = 0x0b,
	MESSAGE_KEPT = 0x0c,
	MESSAGE_PING = 0x0d,
	MESSAGE_ACK = 0x81,
	MESSAGE_WELCOME = 0x82,
	MESSAGE_PACKET = 0x83,
	MESSAGE_FLOOR = 0x84,
	MESSAGE_STATE = 0x85,
};

enum message_status { STATUS_OK, STATUS_REFUSED, STATUS_UNKNOWN, STATUS_BUSY };

/* Which of a message's numbers is which; a message of a single number has it at 0. */
enum { HELLO_LEAST, HELLO_MOST, HELLO_SESSION, HELLO_NEXT_PACKET };
enum { PHASE_MODE, PHASE_SEED };
enum { BURST_TRIGGERS, BURST_GAP };
enum { ACK_SEQUENCE, ACK_COMMAND, ACK_STATUS };
enum {
	WELCOME_VERSION, WELCOME_SESSION, WELCOME_FIRST_PACKET, WELCOME_NEXT_PACKET,
	WELCOME_RESOLUTION, WELCOME_NOW,
};
enum { PACKET_NUMBER, PACKET_UNSENT };
enum {
	FLOOR_ROUNDS, FLOOR_RESOLUTION, FLOOR_LOOPBACK_P50, FLOOR_LOOPBACK_P99,
	FLOOR_LOOPBACK_MAX, FLOOR_JITTER_P50, FLOOR_JITTER_P99, FLOOR_JITTER_MAX,
};
enum {
	STATE_NOW, STATE_MILLIHERTZ, STATE_DUTY, STATE_RECORDS, STATE_PHASE, STATE_SEED,
	STATE_MASK, STATE_BURST, STATE_GAP, STATE_PATIENCE, STATE_RUNNING, STATE_TRIGGERS,
	STATE_UNSENT, STATE_LOST,
};
enum { LINE_ANSWERED, LINE_LATE, LINE_MISSING, LINE_STRAYS };

#define MESSAGE_NUMBERS 14

/*
 * A message's numbers, and what follows them: @items of HELLO's token and ACK's text are
 * bytes, of WELCOME names of MESSAGE_NAME bytes, of STATE lines of MESSAGE_LINE bytes (four
 * u64 in order of LINE_ANSWERED), of PACKET records.  @tail is all of them.
 */
struct message {
	uint8_t type;
	uint64_t number[MESSAGE_NUMBERS];
	uint32_t items;
	uint32_t tail_size;
	const uint8_t *tail;
};

enum message_found {
	MESSAGE_GOOD,		/* @message's tail points into the frame's payload */
	MESSAGE_UNKNOWN,	/* there is no such type */
	MESSAGE_BAD,		/* the payload is not what its type demands */
};

enum message_found message_read(const struct frame *frame, struct message *message);

/*
 * A whole frame, into @buffer of @size bytes.  Returns its size; 0: it does not fit, a number
 * is out of its field's range, or the tail is not of the size that @items demands.
 */
size_t message_write(uint8_t *buffer, size_t size, uint32_t sequence,
		     const struct message *message);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* What a host says, one frame after another. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrate.h"
#include "server.h"

static void acknowledge(struct link *link, const struct frame *frame, enum message_status status,
			const char *format, ...) __attribute__((format(printf, 4, 5)));

static void acknowledge(struct link *link, const struct frame *frame, enum message_status status,
			const char *format, ...)
{
	char text[MESSAGE_TEXT_MAX];
	struct message message = {
		.type = MESSAGE_ACK,
		.number = {
			[ACK_SEQUENCE] = frame->sequence, [ACK_COMMAND] = frame->type,
			[ACK_STATUS] = status,
		},
		.tail = (const uint8_t *)text,
	};
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	message.items = message.tail_size = (uint32_t)strlen(text);
	link_send(link, &message);
}

static void done(struct link *link, const struct frame *frame)
{
	acknowledge(link, frame, STATUS_OK, "%s", "");
}

/* Takes as long whether the first letter is wrong or the last. */
static bool is_token(const char *token, const struct message *message)
{
	size_t length = strlen(token);
	unsigned int differ = length != message->tail_size;

	for (size_t i = 0; i < message->tail_size; i++)
		differ |= (uint8_t)token[length ? i % length : 0] ^ message->tail[i];
	return !differ;
}

static const char *refusal(const struct server *server, const struct message *message)
{
	const uint64_t *number = message->number;

	if (number[HELLO_LEAST] > FRAME_VERSION || number[HELLO_MOST] < FRAME_VERSION)
		return "this generator speaks version 1 of the protocol only";
	if (!is_token(server->token, message))
		return "the token is not the generator's: see its --token-file";
	if (number[HELLO_SESSION] == server->session &&
	    number[HELLO_NEXT_PACKET] > server->store->next)
		return "that packet was not made yet: this host's recording is of another session";
	return NULL;
}

/* Tell the host of @link, if it reads, why it loses the generator: else it would reconnect. */
static void taken(struct link *link)
{
	const struct frame nobody = { .type = MESSAGE_HELLO, .sequence = UINT32_MAX };

	if (link_room(link) >= LINK_RESERVE)
		acknowledge(link, &nobody, STATUS_BUSY, "another host took the generator");
}

static void hello(struct server *server, struct link *link, const struct frame *frame,
		  const struct message *message)
{
	const char *why = refusal(server, message);

	if (why) {
		acknowledge(link, frame, STATUS_REFUSED, "%s", why);
		link->ending = true;
		return;
	}
	/* The newest is the host: an older one's link may be broken without our knowing. */
	if (server->host && server->host != link) {
		taken(server->host);
		server->host->ending = true;
	}
	server->host = link;
	link->welcomed = true;
	link->next_packet = server->store->first;
	if (message->number[HELLO_SESSION] == server->session &&
	    message->number[HELLO_NEXT_PACKET] > link->next_packet)
		link->next_packet = message->number[HELLO_NEXT_PACKET];
	done(link, frame);
	server_welcome(server, link);
	server_tell_floor(server, link);
}

static void set(struct server *server, struct link *link, const struct frame *frame,
		const struct message *message)
{
	char why[MESSAGE_TEXT_MAX];

	if (!settings_take(&server->settings, message, why, sizeof(why))) {
		acknowledge(link, frame, STATUS_REFUSED, "%s", why);
		return;
	}
	capture_order(server->capture, &(struct order){
		.type = ORDER_SETTINGS, .settings = server->settings,
	});
	done(link, frame);
}

static void start(struct server *server, struct link *link, const struct frame *frame,
		  uint64_t triggers)
{
	if (capture_running(server->capture)) {
		acknowledge(link, frame, STATUS_BUSY, "triggers run: STOP first");
		return;
	}
	if (!server->settings.mask && !lines_offered(server->capture->lines)) {
		acknowledge(link, frame, STATUS_REFUSED, "the target offers no line: load its driver, or SET_LINES");
		return;
	}
	capture_order(server->capture, &(struct order){
		.type = ORDER_START, .number = triggers, .settings = server->settings,
	});
	done(link, frame);
}

static void calibration(struct server *server, struct link *link, const struct frame *frame,
			uint64_t rounds)
{
	if (!rounds || rounds > CALIBRATE_ROUNDS_MAX) {
		acknowledge(link, frame, STATUS_REFUSED, "from 1 to %u rounds, not %" PRIu64,
			    CALIBRATE_ROUNDS_MAX, rounds);
		return;
	}
	/* The last one's result is taken before another can overwrite it. */
	if (capture_busy(server->capture) || capture_floors(server->capture) != server->floors) {
		acknowledge(link, frame, STATUS_BUSY, "triggers run, or wait for answers: STOP first");
		return;
	}
	capture_order(server->capture, &(struct order){
		.type = ORDER_CALIBRATE, .number = rounds,
	});
	done(link, frame);
}

static void kept(struct server *server, struct link *link, const struct frame *frame,
		 uint64_t number)
{
	if (number > server->store->next) {
		acknowledge(link, frame, STATUS_REFUSED, "packet %" PRIu64 " was not made yet", number);
		return;
	}
	store_kept(server->store, number);
	done(link, frame);
}

bool command_waits(const struct server *server, const struct link *link, const struct frame *frame)
{
	return link->welcomed && capture_room(server->capture) <= SERVER_ORDERS_KEPT &&
	       frame->type != MESSAGE_PING && frame->type != MESSAGE_KEPT;
}

void command_obey(struct server *server, struct link *link, const struct frame *frame)
{
	struct message message;

	switch (message_read(frame, &message)) {
	case MESSAGE_UNKNOWN:
		acknowledge(link, frame, STATUS_UNKNOWN, "there is no command %#x", frame->type);
		return;
	case MESSAGE_BAD:
		acknowledge(link, frame, STATUS_REFUSED, "%" PRIu32 " bytes that are no such command", frame->length);
		return;
	case MESSAGE_GOOD:
		break;
	}
	if (message.type == MESSAGE_HELLO) {
		hello(server, link, frame, &message);
		return;
	}
	if (!link->welcomed) {
		acknowledge(link, frame, STATUS_REFUSED, "HELLO first");
		return;
	}
	switch (message.type) {
	case MESSAGE_SET_FREQUENCY:
	case MESSAGE_SET_DUTY:
	case MESSAGE_SET_PACKET:
	case MESSAGE_SET_PHASE:
	case MESSAGE_SET_LINES:
	case MESSAGE_SET_BURST:
	case MESSAGE_SET_PATIENCE:
		set(server, link, frame, &message);
		break;
	case MESSAGE_START:
		start(server, link, frame, message.number[0]);
		break;
	case MESSAGE_STOP:
		capture_order(server->capture, &(struct order){ .type = ORDER_STOP });
		done(link, frame);
		break;
	case MESSAGE_CALIBRATE:
		calibration(server, link, frame, message.number[0]);
		break;
	case MESSAGE_KEPT:
		kept(server, link, frame, message.number[0]);
		break;
	case MESSAGE_PING:
		done(link, frame);
		break;
	default:
		acknowledge(link, frame, STATUS_UNKNOWN, "there is no command %#x", message.type);
	}
}

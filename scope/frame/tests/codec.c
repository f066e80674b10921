// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the C codec makes of frames, for a test in another language.
 *   codec read      hex of a frame on each line -> its JSON, or what is wrong
 *   codec again     the same -> hex of the frame made anew from what was read
 *   codec made SEED COUNT      random messages: hex, a space, JSON
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made.h"
#include "message.h"
#include "record.h"

#define FRAME_MAX (FRAME_HEAD + FRAME_PAYLOAD_MAX)

static void print_hex(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		printf("%02x", data[i]);
}

static void print_record(const struct record *record)
{
	switch (record->kind) {
	case RECORD_TRIGGER:
		printf("[1,%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu64, record->trigger,
		       record->at_ns, record->jitter_ns, record->mask);
		for (unsigned int i = 0; i < record->nr_answers; i++)
			printf(",[%u,%" PRIu64 ",%u]", record->answers[i].line,
			       record->answers[i].ns, record->answers[i].flags);
		printf("]");
		break;
	case RECORD_AFTERTHOUGHT:
		printf("[2,%" PRIu64 ",%u,%" PRIu64 "]", record->trigger, record->line,
		       record->at_ns);
		break;
	case RECORD_STRAY:
		printf("[3,%u,%" PRIu32 ",%" PRIu64 "]", record->line, record->sequence,
		       record->at_ns);
		break;
	default:
		printf("[4,%" PRIu64 ",%" PRIu64 "]", record->trigger, record->last);
	}
}

static void print_records(const struct message *message)
{
	struct record record;
	size_t at = 0;

	printf(",\"records\":[");
	for (uint32_t i = 0; i < message->items; i++) {
		at += record_read(message->tail + at, message->tail_size - at, &record);
		printf("%s", i ? "," : "");
		print_record(&record);
	}
	printf("]");
}

static void print_message(uint32_t sequence, const struct message *message)
{
	printf("{\"type\":%u,\"sequence\":%" PRIu32 ",\"numbers\":[", message->type, sequence);
	for (unsigned int i = 0; i < MESSAGE_NUMBERS; i++)
		printf("%s%" PRIu64, i ? "," : "", message->number[i]);
	printf("],\"tail\":\"");
	print_hex(message->tail, message->tail_size);
	printf("\"");
	if (message->type == MESSAGE_PACKET)
		print_records(message);
	printf("}\n");
}

/* A line's bytes; the frame must be of exactly its size, for a sanitizer to watch. */
static uint8_t *unhex(const char *line, size_t *size)
{
	uint8_t *data;

	*size = strspn(line, "0123456789abcdef") / 2;
	data = malloc(*size ? *size : 1);
	if (!data)
		exit(1);
	for (size_t i = 0; i < *size; i++) {
		unsigned int byte;

		sscanf(line + 2 * i, "%2x", &byte);
		data[i] = (uint8_t)byte;
	}
	return data;
}

static void read_one(const uint8_t *data, size_t size, bool again)
{
	static uint8_t made[FRAME_MAX];
	struct message message;
	struct frame frame;
	size_t length;

	if (frame_look(data, size, &frame, &length) != FRAME_GOOD || length != size)
		printf("no frame\n");
	else if (message_read(&frame, &message) != MESSAGE_GOOD)
		printf("no message\n");
	else if (!again)
		print_message(frame.sequence, &message);
	else {
		print_hex(made, message_write(made, sizeof(made), frame.sequence, &message));
		printf("\n");
	}
}

static int read_all(bool again)
{
	static char line[2 * FRAME_MAX + 100];

	while (fgets(line, sizeof(line), stdin)) {
		size_t size;
		uint8_t *data = unhex(line, &size);

		read_one(data, size, again);
		free(data);
	}
	return 0;
}

static int make(uint64_t seed, unsigned int count)
{
	static uint8_t buffer[FRAME_MAX], tail[FRAME_PAYLOAD_MAX];

	for (unsigned int i = 0; i < count; i++) {
		struct message message;

		made_message(&seed, &message, tail);
		print_hex(buffer, message_write(buffer, sizeof(buffer), i, &message));
		printf(" ");
		print_message(i, &message);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "read"))
		return read_all(false);
	if (argc == 2 && !strcmp(argv[1], "again"))
		return read_all(true);
	if (argc == 4 && !strcmp(argv[1], "made"))
		return make(strtoull(argv[2], NULL, 10), (unsigned int)atoi(argv[3]));
	fprintf(stderr, "usage: codec read | again | made SEED COUNT\n");
	return 1;
}

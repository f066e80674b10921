// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Properties of the codec over random messages, and what it makes of damaged ones.  Run
 * under sanitizers: each look is at memory of exactly its size.   fuzz [ROUNDS [SEED]]
 */
#include <stdlib.h>

#include "check.h"
#include "made.h"

#define FRAME_MAX (FRAME_HEAD + FRAME_PAYLOAD_MAX)

static unsigned int rounds = 4000;
static uint64_t seed = 1;
static uint8_t buffer[FRAME_MAX], tail[FRAME_PAYLOAD_MAX];

static size_t made(struct message *message, uint32_t sequence)
{
	made_message(&seed, message, tail);
	return message_write(buffer, sizeof(buffer), sequence, message);
}

/* A copy behind whose end a sanitizer watches; to be freed. */
static uint8_t *exact(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	return copy;
}

static void test_round_trip(void)
{
	for (unsigned int i = 0; i < rounds; i++) {
		struct message message, back;
		size_t size = made(&message, i), length;
		uint8_t *data = exact(buffer, size);
		struct frame frame;

		CHECK(size >= FRAME_HEAD);
		CHECK(frame_look(data, size, &frame, &length) == FRAME_GOOD && length == size);
		CHECK(frame.type == message.type && frame.sequence == i);
		CHECK(message_read(&frame, &back) == MESSAGE_GOOD);
		CHECK(!memcmp(back.number, message.number, sizeof(back.number)));
		CHECK(back.items == message.items && back.tail_size == message.tail_size);
		CHECK(!memcmp(back.tail, message.tail, back.tail_size));
		free(data);
	}
}

/* The beginning of a frame is one that wants more, whatever its length. */
static void test_beginnings(void)
{
	for (unsigned int i = 0; i < rounds / 20; i++) {
		struct message message;
		size_t size = made(&message, i), length;
		struct frame frame;

		for (size_t part = 0; part < size; part++) {
			uint8_t *data = exact(buffer, part);

			CHECK(frame_look(data, part, &frame, &length) == FRAME_MORE);
			free(data);
		}
	}
}

/* A frame with one to four bits turned is never taken: CRC-32 tells them all at this size. */
static void test_turned_bits(void)
{
	for (unsigned int i = 0; i < rounds; i++) {
		struct message message;
		size_t size = made(&message, i), length = 0;
		uint8_t *data;
		struct frame frame;

		if (size > 8000)
			continue;
		for (uint64_t n = 1 + made_draw(&seed) % 4; n; n--)
			buffer[made_draw(&seed) % size] ^= (uint8_t)(1 << n);
		data = exact(buffer, size);
		if (frame_look(data, size, &frame, &length) == FRAME_GOOD) {
			/* The same bit twice: nothing was turned. */
			struct message back;

			CHECK(message_read(&frame, &back) == MESSAGE_GOOD);
			CHECK(!memcmp(back.number, message.number, sizeof(back.number)));
		}
		free(data);
	}
}

/* Payloads that lie, in frames that are right. */
static void test_lying_payloads(void)
{
	unsigned int bad = 0;

	for (unsigned int i = 0; i < rounds * 4; i++) {
		struct message message;
		size_t size = made(&message, i) - FRAME_HEAD;
		uint8_t *payload;
		struct frame frame;

		for (uint64_t n = made_draw(&seed) % 4; n && size; n--)
			buffer[FRAME_HEAD + made_draw(&seed) % size] = (uint8_t)made_number(&seed);
		if (!(made_draw(&seed) % 2))
			size = size ? made_draw(&seed) % size : 0;
		payload = exact(buffer + FRAME_HEAD, size);
		frame = (struct frame){ message.type, i, (uint32_t)size, payload };
		if (!(made_draw(&seed) % 4))
			frame.type = (uint8_t)made_draw(&seed);
		if (message_read(&frame, &message) != MESSAGE_GOOD) {
			bad++;
		} else {
			/* What was taken can be said again, in the same bytes. */
			CHECK(message_write(buffer, sizeof(buffer), i, &message) ==
			      FRAME_HEAD + size);
			CHECK(!memcmp(buffer + FRAME_HEAD, payload, size));
		}
		free(payload);
	}
	CHECK(bad > rounds / 2);
}

/* As a serial line is read.  Returns how many frames were good. */
static unsigned int scan(const uint8_t *data, size_t size, size_t *skipped)
{
	unsigned int good = 0;
	size_t at = 0;

	*skipped = 0;
	while (at < size) {
		struct frame frame;
		size_t length;
		enum frame_found found = frame_look(data + at, size - at, &frame, &length);

		/* Nothing more comes: a frame that was begun is given up. */
		if (found == FRAME_MORE)
			length = 1;
		CHECK(length >= 1 && length <= size - at);
		if (found == FRAME_GOOD)
			good++;
		else
			*skipped += length;
		at += length;
	}
	return good;
}

/* Frames among noise that has beginnings of frames in it: each is found. */
static void test_noisy_line(void)
{
	static uint8_t line[20 * (FRAME_MAX + 64)];

	for (unsigned int i = 0; i < rounds / 40; i++) {
		size_t size = 0, noise = 0, skipped;
		uint8_t *data;

		for (unsigned int k = 0; k < 10; k++) {
			struct message message;
			size_t n = made_draw(&seed) % 64;

			for (size_t b = 0; b < n; b++)
				line[size + b] = (uint8_t)made_draw(&seed);
			if (n > 8)
				frame_put(line + size + made_draw(&seed) % (n - 3), FRAME_MAGIC, 4);
			size += n;
			noise += n;
			n = made(&message, k);
			memcpy(line + size, buffer, n);
			size += n;
		}
		data = exact(line, size);
		CHECK(scan(data, size, &skipped) == 10);
		CHECK(skipped == noise);
		free(data);
	}
}

static void test_bounds(void)
{
	struct message message = { .type = MESSAGE_SET_DUTY, .number = { UINT64_C(1) << 32 } };
	struct record record = { .kind = RECORD_TRIGGER, .mask = 2, .nr_answers = 2,
		.answers = { { .line = 1 }, { .line = 1 } } };
	struct frame frame;
	uint8_t bytes[RECORD_MAX];
	size_t length;

	CHECK(!message_write(buffer, sizeof(buffer), 0, &message));
	message.number[0] = 5;
	CHECK(message_write(buffer, FRAME_HEAD + 4, 0, &message) == FRAME_HEAD + 4);
	CHECK(!message_write(buffer, FRAME_HEAD + 3, 0, &message));
	CHECK(!record_write(bytes, &record));	/* a line twice */
	record.nr_answers = 1;
	CHECK(record_write(bytes, &record) == RECORD_HEAD + RECORD_ANSWER);
	bytes[RECORD_HEAD] = 2;			/* not in the mask */
	CHECK(!record_read(bytes, sizeof(bytes), &record));

	/* The greatest payload, and one byte more. */
	frame_seal(buffer, 0x83, 0, FRAME_PAYLOAD_MAX);
	CHECK(frame_look(buffer, sizeof(buffer), &frame, &length) == FRAME_GOOD);
	frame_put(buffer + 8, FRAME_PAYLOAD_MAX + 1, 4);
	CHECK(frame_look(buffer, sizeof(buffer), &frame, &length) == FRAME_BAD);
	CHECK(frame_crc(0, "123456789", 9) == 0xcbf43926);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "a message comes back as it was", test_round_trip },
		{ "the beginning of a frame wants more", test_beginnings },
		{ "turned bits are told", test_turned_bits },
		{ "payloads that lie", test_lying_payloads },
		{ "frames are found on a noisy line", test_noisy_line },
		{ "bounds", test_bounds },
	};

	if (argc > 1)
		rounds = (unsigned int)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

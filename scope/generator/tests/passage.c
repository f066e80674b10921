// SPDX-License-Identifier: GPL-2.0-or-later
/* The ways of records: off the lines, through the ring, into packets. */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "clock.h"
#include "lines.h"
#include "message.h"
#include "ring.h"
#include "store.h"

static struct scope_lines lines;
static struct ring ring;
static struct store store;

static void answer(unsigned int line, uint32_t sequence)
{
	struct scope_line *to = &lines.line[line];

	__atomic_store_n(&to->ring[to->head % SCOPE_LINES_RING], sequence, __ATOMIC_RELAXED);
	__atomic_store_n(&to->head, to->head + 1, __ATOMIC_RELEASE);
}

static void test_lines(void)
{
	struct lines_reader reader = { 0 };
	uint32_t got[64];

	memset(&lines, 0, sizeof(lines));
	CHECK(lines_begin(&lines) == 0 && lines.generation == 1);
	lines.trigger = 77;
	CHECK(lines_begin(&lines) == 77 && lines.generation == 2);
	lines.line[4].head = UINT32_MAX - 3;	/* it wraps */
	lines_skip(&lines, 4, &reader);
	CHECK(!lines_waiting(&lines, 4, &reader));
	for (uint32_t i = 0; i < 10; i++)
		answer(4, i);
	CHECK(lines_waiting(&lines, 4, &reader));
	CHECK(lines_take(&lines, 4, &reader, got, 64) == 10 && got[0] == 0 && got[9] == 9);
	CHECK(!reader.lost);
}

static void test_lines_lost(void)
{
	struct lines_reader reader = { 0 };
	uint32_t got[2000];

	memset(&lines, 0, sizeof(lines));
	for (uint32_t i = 0; i < 1500; i++)
		answer(0, i);
	CHECK(lines_take(&lines, 0, &reader, got, 2000) == SCOPE_LINES_RING - 1);
	CHECK(reader.lost == 1500 - (SCOPE_LINES_RING - 1));
	CHECK(got[0] == reader.lost && got[SCOPE_LINES_RING - 2] == 1499);
	/* A head that goes back, or far ahead, holds nobody up. */
	lines.line[0].head = 3;
	CHECK(lines_take(&lines, 0, &reader, got, 2000) == 0);
	CHECK(lines_take(&lines, 0, &reader, got, 2000) == 0 && reader.seen == 3);
	lines.line[0].head = 2000000003;
	CHECK(lines_take(&lines, 0, &reader, got, 2000) == SCOPE_LINES_RING - 1);
	CHECK(!lines_waiting(&lines, 0, &reader));
}

static void test_names(void)
{
	char name[SCOPE_LINES_NAME];

	memset(&lines, 0, sizeof(lines));
	memcpy(lines.names[1], "a b\x80\ncde\0x", 10);
	lines_name(&lines, 1, name);
	CHECK(!memcmp(name, "a?b??cde\0\0\0\0\0\0\0", SCOPE_LINES_NAME));
	memset(lines.names[2], 'n', SCOPE_LINES_NAME);
	lines_name(&lines, 2, name);
	CHECK(!memcmp(name, "nnnnnnnnnnnnnnnn", SCOPE_LINES_NAME));
}

static bool writing;

static void *write_answers(void *to)
{
	(void)to;
	for (uint32_t i = 0; __atomic_load_n(&writing, __ATOMIC_RELAXED); i++)
		answer(3, i);
	return NULL;
}

/* Against a writer that laps: what is taken is in order, and with what is lost all there is. */
static void test_lines_raced(void)
{
	struct lines_reader reader = { 0 };
	uint32_t got[64], next = 0, taken = 0;
	uint64_t begin = clock_now();
	pthread_t writer;

	memset(&lines, 0, sizeof(lines));
	writing = true;
	pthread_create(&writer, NULL, write_answers, NULL);
	/* Half a second, or until the writer has had its turn. */
	while (clock_now() - begin < (taken > 1000 ? NS_PER_S / 2 : 20 * NS_PER_S)) {
		unsigned int count = lines_take(&lines, 3, &reader, got, 64);

		for (unsigned int i = 0; i < count; i++) {
			/* Its sequence is its place; one that was overwritten is beyond. */
			CHECK(got[i] >= next && got[i] < reader.seen);
			next = got[i] + 1;
		}
		taken += count;
		CHECK(taken + reader.lost == reader.seen);
	}
	__atomic_store_n(&writing, false, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	CHECK(taken > 1000);
}

static struct record trigger(uint64_t number)
{
	return (struct record){
		.kind = RECORD_TRIGGER, .trigger = number, .mask = 3, .nr_answers = 1,
		.answers = { { .line = 1, .ns = number } },
	};
}

static void test_ring_full(void)
{
	uint8_t bytes[RECORD_MAX];
	struct record record;
	uint64_t put = 0, next = 1;
	size_t size;

	memset(&ring, 0, sizeof(ring));
	while (!ring_unsent(&ring)) {
		record = trigger(++put);
		ring_put(&ring, &record);
	}
	record = trigger(++put);
	ring_put(&ring, &record);		/* lost too */
	CHECK(ring_unsent(&ring) == 2);
	for (; next < put - 1; next++) {
		size = ring_take(&ring, bytes);
		CHECK(size && record_read(bytes, size, &record) == size);
		CHECK(record.kind == RECORD_TRIGGER && record.trigger == next);
	}
	CHECK(!ring_take(&ring, bytes));
	record = trigger(++put);
	ring_put(&ring, &record);
	CHECK(record_read(bytes, ring_take(&ring, bytes), &record));
	CHECK(record.kind == RECORD_GAP && record.trigger == put - 2 && record.last == put - 1);
	CHECK(record_read(bytes, ring_take(&ring, bytes), &record) && record.trigger == put);
	CHECK(!ring_take(&ring, bytes));
}

static void *put_triggers(void *to)
{
	(void)to;
	for (uint64_t i = 1; i <= 300000; i++) {
		struct record record = trigger(i);

		ring_put(&ring, &record);
	}
	__atomic_store_n(&writing, false, __ATOMIC_RELEASE);
	return NULL;
}

/* Every trigger comes, or is in a gap or among the last that were not told. */
static void test_ring_raced(void)
{
	uint8_t bytes[RECORD_MAX];
	uint64_t next = 1, gone = 0;
	pthread_t writer;

	memset(&ring, 0, sizeof(ring));
	writing = true;
	pthread_create(&writer, NULL, put_triggers, NULL);
	for (;;) {
		bool last = !__atomic_load_n(&writing, __ATOMIC_ACQUIRE);
		size_t size = ring_take(&ring, bytes);
		struct record record;

		if (!size && last)
			break;
		if (!size)
			continue;
		CHECK(record_read(bytes, size, &record) == size);
		CHECK(record.trigger == next);
		next = (record.kind == RECORD_GAP ? record.last : record.trigger) + 1;
		gone += record.kind == RECORD_GAP ? record.last - record.trigger + 1 : 0;
	}
	pthread_join(writer, NULL);
	if (ring.gap_first) {
		CHECK(ring.gap_first == next);
		gone += ring.gap_last - ring.gap_first + 1;
		next = ring.gap_last + 1;
	}
	CHECK(next == 300001 && gone == ring_unsent(&ring));
}

static void add(uint64_t number, uint16_t records)
{
	struct record record = trigger(number);
	uint8_t bytes[RECORD_MAX];

	store_add(&store, bytes, record_write(bytes, &record), records, number);
}

static uint8_t frame_bytes[FRAME_HEAD + FRAME_PAYLOAD_MAX];

/* Packet @number as a host has it. */
static struct message packet(uint64_t number)
{
	struct message message = { 0 };
	struct frame frame;
	size_t size, length;

	size = store_frame(&store, number, 5, frame_bytes, sizeof(frame_bytes), 9);
	CHECK(frame_look(frame_bytes, size, &frame, &length) == FRAME_GOOD && length == size);
	CHECK(message_read(&frame, &message) == MESSAGE_GOOD);
	CHECK(message.number[PACKET_NUMBER] == number);
	return message;
}

static void test_packets(void)
{
	struct record record;

	store_begin(&store, 1 << 20);
	for (uint64_t i = 1; i <= 10; i++)
		add(i, 4);
	CHECK(store.next == 2 && store.count == 2);
	CHECK(!store_is_old(&store, 18, 10) && store_is_old(&store, 19, 10));
	store_complete(&store);
	store_complete(&store);		/* nothing: no packet */
	CHECK(store.next == 3 && packet(2).items == 2);
	CHECK(packet(1).items == 4 && packet(1).number[PACKET_UNSENT] == 5);
	CHECK(record_read(packet(1).tail, 100, &record) && record.trigger == 5);
	store_kept(&store, 2);
	CHECK(store.first == 2);
	/* As many as fit, whatever was asked for. */
	for (uint64_t i = 11; i <= 3000; i++)
		add(i, 60000);
	CHECK(store.next > 3 && packet(3).items > 1000);
	store_end(&store);
	CHECK(!store.bytes);
}

static void test_packets_forgotten(void)
{
	struct message message;
	struct record record;
	uint64_t first;

	store_begin(&store, 1 << 20);
	for (uint64_t i = 1; i <= 1000; i++)
		add(i, 10);
	for (uint64_t i = 0; i < 50; i++)
		packet(i);			/* sent: 1 to 500 */
	for (uint64_t i = 1001; store.first < 60; i++)
		add(i, 10);
	CHECK(store.bytes <= store.limit);
	CHECK(store.unsent == 100);		/* of packets 50 to 59 */
	store_tell_gaps(&store, 10, 0);
	CHECK(!store.nr_gaps);
	store_complete(&store);
	message = packet(store.next - 1);
	CHECK(message.number[PACKET_UNSENT] == 105 + store.unsent - 100);
	CHECK(record_read(message.tail + message.tail_size - 17, 17, &record));
	CHECK(record.kind == RECORD_GAP && record.trigger == 501 && record.last == 600);
	/* Kept by the host: no gap, whoever sent them. */
	first = store.unsent;
	store_kept(&store, store.next);
	CHECK(store.unsent == first && !store.nr_gaps && !store.bytes);
	store_end(&store);
}

int main(void)
{
	static const struct test tests[] = {
		{ "answers come off a line", test_lines },
		{ "answers that were overwritten are counted", test_lines_lost },
		{ "names are printable", test_names },
		{ "a line whose writer laps the reader", test_lines_raced },
		{ "a full ring tells its gap", test_ring_full },
		{ "a ring with both ends at work", test_ring_raced },
		{ "packets", test_packets },
		{ "packets that were forgotten", test_packets_forgotten },
	};

	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

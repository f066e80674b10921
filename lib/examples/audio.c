// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An audio callback: an ordinary thread reads, decodes and may wait as long as it likes;
 * the isolated one takes a block of 128 frames from a channel each 2.7 ms.  If none has
 * come it plays silence and counts that: it never waits for the other.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "example.h"

enum { BLOCK = 1 };

#define FRAMES		128U
#define BLOCKS		100U
#define PERIOD_NS	(FRAMES * 1000000000ULL / 48000U)

struct block {
	uint64_t number;
	float frames[FRAMES];
};

struct output {
	float frames[FRAMES];
	uint64_t next;		/* the block that is to be played */
	uint64_t wrong;
	int filled;
};

static void check(const char *call, int error)
{
	if (error < 0) {
		fprintf(stderr, "%s: %s\n", call, isolator_strerror(error));
		exit(1);
	}
}

/* The ordinary side: files, decoders, locks and malloc belong here. */
static void *decode(void *argument)
{
	struct timespec pause = { .tv_nsec = PERIOD_NS / 2 };
	struct isolator_channel *channel;
	struct block *block = malloc(sizeof(*block));

	if (!block)
		exit(1);
	check("isolator_channel_open",
	      isolator_channel_open(*(int *)argument, ISOLATOR_SIDE_A, &channel));
	for (block->number = 0; block->number < BLOCKS; block->number++) {
		for (unsigned int i = 0; i < FRAMES; i++)
			block->frames[i] = (float)(block->number * FRAMES + i);
		/* Full: the callback has enough for now. */
		while (isolator_post(channel, BLOCK, block, sizeof(*block)) == -EAGAIN)
			nanosleep(&pause, NULL);
	}
	isolator_channel_close(channel);
	free(block);
	return NULL;
}

static void on_block(void *context, unsigned int type, const void *data, size_t length)
{
	const struct block *block = data;
	struct output *output = context;

	(void)type;
	if (length != sizeof(*block) || block->number != output->next ||
	    block->frames[FRAMES - 1] != (float)(block->number * FRAMES + FRAMES - 1))
		output->wrong++;
	for (unsigned int i = 0; i < FRAMES; i++)
		output->frames[i] = 0.5F * block->frames[i];
	output->next++;
	output->filled = 1;
}

/* The device's interrupt, in this example: isolated a spin, else a sleep. */
static void wait_until(uint64_t when_ns, int isolated)
{
	struct timespec at = {
		.tv_sec = (time_t)(when_ns / 1000000000U),
		.tv_nsec = (long)(when_ns % 1000000000U),
	};

	if (!isolated) {
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		return;
	}
	while (example_now_ns() < when_ns)
		isolator_tick(TICK_ALL);
}

int main(void)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct isolator_channel *channel;
	struct output output = { .next = 0 };
	uint64_t when, silent = 0;
	pthread_t decoder;
	int isolated, fd;

	options.slots = 64;	/* about 6 blocks, 17 ms: what the decoder may be late */
	options.message_bytes = sizeof(struct block);
	fd = isolator_channel_create(&options);
	check("isolator_channel_create", fd);
	check("isolator_channel_open", isolator_channel_open(fd, ISOLATOR_SIDE_B, &channel));
	check("isolator_channel_register",
	      isolator_channel_register(channel, BLOCK, on_block, &output));
	/* Before the pinning, which a new thread would inherit. */
	if (pthread_create(&decoder, NULL, decode, &fd) != 0)
		return 1;
	example_pin();
	isolated = example_isolate();

	for (when = example_now_ns(); output.next < BLOCKS; ) {
		when += PERIOD_NS;
		wait_until(when, isolated);
		output.filled = 0;
		isolator_poll(channel, 1);
		if (!output.filled) {
			memset(output.frames, 0, sizeof(output.frames));
			silent++;
		}
	}
	if (isolated)
		isolator_stop();
	pthread_join(decoder, NULL);
	isolator_channel_close(channel);
	close(fd);
	printf("%llu blocks played, %llu of them wrong; %llu times silence\n",
	       (unsigned long long)output.next, (unsigned long long)output.wrong,
	       (unsigned long long)silent);
	return output.wrong ? 1 : 0;
}

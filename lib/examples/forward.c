// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Polling as a packet processor does: take up to 32 packets, look each up, send it on,
 * begin again; a tick between bursts.  An ordinary thread stands for the network card:
 * a channel takes the place of its receive and transmit rings.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "example.h"

enum { PACKET = 1 };

#define BURST		32U
#define PACKETS		50000U
#define ROUTES		256U

struct packet {
	uint32_t number;
	uint32_t destination;
	uint32_t port;
};

struct card {
	struct isolator_channel *channel;
	uint32_t received;
	uint32_t wrong;
	int fd;
};

struct processor {
	struct isolator_channel *channel;
	uint32_t ports[ROUTES];
	uint32_t forwarded;
	uint32_t dropped;
};

static void check(const char *call, int error)
{
	if (error < 0) {
		fprintf(stderr, "%s: %s\n", call, isolator_strerror(error));
		exit(1);
	}
}

/* What the table of routes must say of a destination. */
static uint32_t port_of(uint32_t destination)
{
	return (destination * 7 + 3) % 16;
}

static void on_transmitted(void *context, unsigned int type, const void *data, size_t length)
{
	const struct packet *packet = data;
	struct card *card = context;

	(void)type, (void)length;
	if (packet->number != card->received || packet->port != port_of(packet->destination))
		card->wrong++;
	card->received++;
}

static void *be_the_card(void *argument)
{
	struct card *card = argument;

	check("isolator_channel_open",
	      isolator_channel_open(card->fd, ISOLATOR_SIDE_A, &card->channel));
	check("isolator_channel_register",
	      isolator_channel_register(card->channel, PACKET, on_transmitted, card));
	for (uint32_t sent = 0; sent < PACKETS || card->received < PACKETS; ) {
		struct packet packet = { .number = sent, .destination = sent % ROUTES };

		/* No more under way than the ring back can hold: none is dropped. */
		if (sent < PACKETS && sent - card->received < 512 &&
		    isolator_post(card->channel, PACKET, &packet, sizeof(packet)) == 0)
			sent++;
		else if (isolator_poll(card->channel, BURST) == 0)
			sched_yield();
	}
	isolator_channel_close(card->channel);
	return NULL;
}

static void on_received(void *context, unsigned int type, const void *data, size_t length)
{
	struct processor *processor = context;
	struct packet packet = *(const struct packet *)data;

	(void)type, (void)length;
	packet.port = processor->ports[packet.destination % ROUTES];
	/* A full transmit ring drops, as a card does: waiting would stop all others. */
	if (isolator_post(processor->channel, PACKET, &packet, sizeof(packet)) == 0)
		processor->forwarded++;
	else
		processor->dropped++;
}

int main(void)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct processor processor = { .forwarded = 0 };
	struct card card = { .received = 0 };
	struct example_usage before, after;
	uint64_t bursts = 0, empty = 0;
	pthread_t thread;
	int isolated;

	card.fd = isolator_channel_create(&options);
	check("isolator_channel_create", card.fd);
	check("isolator_channel_open",
	      isolator_channel_open(card.fd, ISOLATOR_SIDE_B, &processor.channel));
	check("isolator_channel_register",
	      isolator_channel_register(processor.channel, PACKET, on_received, &processor));
	for (uint32_t i = 0; i < ROUTES; i++)
		processor.ports[i] = port_of(i);
	if (pthread_create(&thread, NULL, be_the_card, &card) != 0)
		return 1;
	example_pin();
	isolated = example_isolate();

	before = example_used();
	while (processor.forwarded + processor.dropped < PACKETS) {
		if (isolator_poll(processor.channel, BURST) != 0) {
			bursts++;
		} else {
			empty++;
			if (!isolated)	/* the CPU is not ours alone: let others have it */
				sched_yield();
		}
		if (isolated)	/* one load, where nothing is due */
			isolator_tick(TICK_ALL);
	}
	after = example_used();
	if (isolated)
		isolator_stop();
	pthread_join(thread, NULL);
	isolator_channel_close(processor.channel);
	close(card.fd);
	printf("%u forwarded, %u dropped, %u wrong; %.1f a burst, %llu polls found nothing; pre-empted %ld times\n",
	       processor.forwarded, processor.dropped, card.wrong,
	       (double)PACKETS / (double)bursts, (unsigned long long)empty,
	       after.switches - before.switches);
	return processor.dropped || card.wrong ? 1 : 0;
}

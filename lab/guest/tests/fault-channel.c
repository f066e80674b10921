// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-channel
 * cpus: 2
 * kernel: isolator-faults
 * timeout: 120
 * append: irqaffinity=0
 * about: a planted fault: a loop of the kernel believes the length that a peer writes
 */
#include <isolator.h>
#include <linux/isolator_ring.h>
#include "fault.h"
#include "traffic.h"

enum { SLOTS = 64, TOO_LONG = 63 };

/* A word that says more than its slot can hold is a gap, and no message. */
static bool length_is_bounded(void)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct isolator_slot *slot;
	unsigned char *memory;
	bool bounded;
	int fd;

	options.slots = SLOTS;
	fd = isolator_channel_create(&options);
	memory = mmap(NULL, isolator_ring_channel_bytes(SLOTS), PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	caller_start(TRAFFIC);
	if (memory == MAP_FAILED || order("channel %d", fd))
		bail_out("a channel");
	/* The first slot of ring 0, which is posted to by side A. */
	slot = (struct isolator_slot *)(memory + ISOLATOR_RING_HEADER);
	__atomic_store_n(&slot->word, ISOLATOR_RING_FIRST | TOO_LONG, __ATOMIC_RELEASE);
	until(told("gaps") + told("received") == 1);
	diag("%llu gaps, the longest message: %llu", told("gaps"), told("longest"));
	bounded = told("gaps") == 1 && told("longest") <= ISOLATOR_RING_PAYLOAD;
	ok(module_unload(TRAFFIC), "it goes");
	munmap(memory, isolator_ring_channel_bytes(SLOTS));
	close(fd);
	return bounded;
}

int main(void)
{
	iso_require(2);
	return with_fault("trust_word", length_is_bounded);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* moodycamel::ConcurrentQueue with a producer token; it is for many on both sides. */
#include <concurrentqueue/concurrentqueue.h>

#include "arena.hh"
#include "pair.hh"
#include "peers.hh"

namespace {

struct Traits : moodycamel::ConcurrentQueueDefaultTraits {
	static void *malloc(std::size_t bytes) { return arena_take(bytes); }
	static void free(void *) {}
};

struct Queue {
	bool push(const Message &message) { return queue.try_enqueue(producer, message); }
	bool pop(Message &message) { return queue.try_dequeue_from_producer(producer, message); }

	moodycamel::ConcurrentQueue<Message, Traits> queue{ 2 * RING };
	moodycamel::ProducerToken producer{ queue };
};

struct Peer : Pair<Queue> {
	static Peer *make()
	{
		arena_begin();
		auto *peer = new (shared_memory(sizeof(Peer))) Peer;

		arena_end();
		return peer;
	}
};

} // namespace

Result measure_concurrentqueue(const Options &options)
{
	return measure<Peer>(options);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* moodycamel::ReaderWriterQueue, all of its blocks allocated beforehand. */
#include <readerwriterqueue/readerwriterqueue.h>

#include "arena.hh"
#include "pair.hh"
#include "peers.hh"

namespace {

struct Queue {
	bool push(const Message &message) { return queue.try_enqueue(message); }
	bool pop(Message &message) { return queue.try_dequeue(message); }

	moodycamel::ReaderWriterQueue<Message> queue{ RING };
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

Result measure_readerwriterqueue(const Options &options)
{
	return measure<Peer>(options);
}

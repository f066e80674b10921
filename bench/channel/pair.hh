/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two queues of a peer, one in each direction, in memory that both processes have at
 * the same address.  A queue has bool push(const Message &) and bool pop(Message &).
 */
#ifndef BENCH_CHANNEL_PAIR_HH
#define BENCH_CHANNEL_PAIR_HH

#include <new>

#include "trip.hh"

template <class Queue>
struct Pair {
	alignas(128) Queue there;
	alignas(128) Queue back;

	static Pair *make() { return new (shared_memory(sizeof(Pair))) Pair; }

	class Side {
	public:
		Side(Pair &pair, unsigned number)
			: out_(number ? pair.back : pair.there), in_(number ? pair.there : pair.back)
		{
		}

		bool post(const Message &message) { return out_.push(message); }

		template <class Handler>
		void poll(Handler &&handler)
		{
			Message message;

			if (in_.pop(message))
				handler(message);
		}

	private:
		Queue &out_, &in_;
	};
};

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The floor: one word in a line of its own, there and back, and no payload.
 *
 * How long a line takes from core to core depends on where its address lies in the
 * last-level cache, by some 40 %.  A ring averages over that, so the floor uses as many
 * lines as a ring has slots.  And it depends on whether whoever writes it wrote it last:
 * on an AMD EPYC a line that goes back and forth takes 1.5 times as long as the next one
 * each time, elsewhere less.  So both are measured, the next line for each batch and for
 * each trip, and the floor is the faster one: what a queue cannot choose is no excuse.
 */
#include <atomic>

#include "peers.hh"

namespace {

/* @PAUSE: whoever waits tells the CPU so between two looks. */
template <bool PAUSE>
class Floor {
public:
	static Floor *make() { return static_cast<Floor *>(shared_memory(sizeof(Floor))); }

	/* Numbers count from 1: a word is 0 before. */
	void echo(std::uint64_t number, std::uint64_t line)
	{
		await(there_[line], number);
		back_[line].value.store(number, std::memory_order_release);
	}

	void trip(std::uint64_t number, std::uint64_t line)
	{
		there_[line].value.store(number, std::memory_order_release);
		await(back_[line], number);
	}

	static void child(void *what, const Options &options)
	{
		const std::uint64_t trips = std::uint64_t(options.batches) * BATCH + options.singles;
		std::uint64_t number = 1;

		for (unsigned stay : STAY)
			for (std::uint64_t i = 0; i < trips; i++, number++)
				static_cast<Floor *>(what)->echo(number, number / stay % RING);
	}

	static Result parent(void *what, const Options &options)
	{
		std::uint64_t number = 1;
		Result best{};

		for (unsigned stay : STAY) {
			Result one = time_trips(options, [&] {
				static_cast<Floor *>(what)->trip(number, number / stay % RING);
				number++;
			});

			if (stay == STAY[0] || one.p50 < best.p50)
				best = one;
		}
		return best;
	}

private:
	/* So many trips a line. */
	static constexpr unsigned STAY[] = { BATCH, 1 };

	struct alignas(64) Word {
		std::atomic<std::uint64_t> value;
	};

	static void await(const Word &word, std::uint64_t number)
	{
		while (word.value.load(std::memory_order_acquire) != number)
			if (PAUSE)
				pause_cpu();
	}

	Word there_[RING], back_[RING];
};

template <bool PAUSE>
Result measure_with(const Options &options)
{
	using Peer = Floor<PAUSE>;

	return run(options, Peer::child, Peer::parent, Peer::make());
}

} // namespace

Result measure_floor(const Options &options)
{
	return measure_with<false>(options);
}

Result measure_floor_pause(const Options &options)
{
	return measure_with<true>(options);
}

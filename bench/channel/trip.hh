/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The measurement that every peer goes through: two processes, each pinned to one
 * CPU, a message of 56 bytes there and back, checked at both ends.
 *
 * A peer is a class with a name, a static make(memory), and for each side:
 *   bool post(const Message &)             false: full
 *   bool poll(handler)                     calls handler(const Message &)
 */
#ifndef BENCH_CHANNEL_TRIP_HH
#define BENCH_CHANNEL_TRIP_HH

#include <cstddef>
#include <cstdint>
#include <vector>

#include "statistics/rank.h"

constexpr std::size_t RING = 1024;

struct Message {
	std::uint64_t number;
	std::uint64_t rest[6];
};

static_assert(sizeof(Message) == 56, "what fits into a line beside a sequence word");

struct Options {
	int cpus[2] = { 0, 1 };
	unsigned batches = 6000;	/* of BATCH round trips, for min and p50 */
	unsigned singles = 50000;	/* round trips timed one by one, for p99 */
	unsigned chunks = 200;		/* of CHUNK messages in one direction */
};

constexpr unsigned BATCH = 32;
/* Some rings, so that whoever is slower decides. */
constexpr unsigned CHUNK = 4096;

struct Result {
	double min, p50, p99;	/* ns a round trip */
	double stream;		/* ns a message, median of the chunks */
};

/* Memory that both processes have at the same address, all zero. */
void *shared_memory(std::size_t bytes);

/* As the first half of a fork: pin, arm the alarm. */
void become_side(int cpu);
[[noreturn]] void fail(const char *what);

std::uint64_t now_ns();

/* What a loop that waits may tell the CPU. */
inline void pause_cpu()
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* By rank; @values change their order. */
double percentile(std::vector<std::uint64_t> &values, std::uint32_t above);

/* The child's part: send back what comes, then swallow the stream. */
template <class Side>
void echo(Side &side, const Options &options)
{
	std::uint64_t next = 0;
	const std::uint64_t trips = std::uint64_t(options.batches) * BATCH + options.singles;

	while (next < trips)
		side.poll([&](const Message &message) {
			if (message.number != next++)
				fail("a message is lost, doubled or out of order");
			while (!side.post(message))
				;
		});
	while (next < trips + std::uint64_t(options.chunks) * CHUNK)
		side.poll([&](const Message &message) {
			if (message.number != next++)
				fail("a message of the stream is lost, doubled or out of order");
		});
	Message last{};
	last.number = next;
	while (!side.post(last))
		;
}

template <class Side>
inline void round_trip(Side &side, Message &message)
{
	bool back = false;

	while (!side.post(message))
		;
	do
		side.poll([&](const Message &answer) {
			if (answer.number != message.number || answer.rest[5] != message.number)
				fail("the answer is not what was sent");
			back = true;
		});
	while (!back);
	message.rest[5] = ++message.number;
}

/* Call @trip as often as @options say and see how long that takes. */
template <class Trip>
Result time_trips(const Options &options, Trip &&trip)
{
	std::vector<std::uint64_t> times(options.batches);
	Result result{};
	std::uint64_t begin;

	for (auto &time : times) {
		begin = now_ns();
		for (unsigned i = 0; i < BATCH; i++)
			trip();
		time = now_ns() - begin;
	}
	result.min = percentile(times, PERCENTILE_WHOLE) / BATCH;
	result.p50 = percentile(times, PERCENTILE_WHOLE / 2) / BATCH;
	times.resize(options.singles);
	for (auto &time : times) {
		begin = now_ns();
		trip();
		time = now_ns() - begin;
	}
	result.p99 = percentile(times, PERCENTILE_WHOLE / 100);
	return result;
}

/* The parent's part. */
template <class Side>
Result drive(Side &side, const Options &options)
{
	Message message{};
	Result result = time_trips(options, [&] { round_trip(side, message); });
	std::vector<std::uint64_t> times(options.chunks);
	bool back = false;

	for (auto &time : times) {
		std::uint64_t begin = now_ns();

		for (unsigned i = 0; i < CHUNK; i++, message.number++)
			while (!side.post(message))
				;
		time = now_ns() - begin;
	}
	while (!back)
		side.poll([&](const Message &last) {
			if (last.number != message.number)
				fail("the stream is not what was sent");
			back = true;
		});
	result.stream = percentile(times, PERCENTILE_WHOLE / 2) / CHUNK;
	return result;
}

Result run(const Options &options, void (*child)(void *, const Options &),
	   Result (*parent)(void *, const Options &), void *what);

/* What the program has in its table for one peer. */
template <class Peer>
Result measure(const Options &options)
{
	auto *peer = Peer::make();

	return run(options,
		[](void *what, const Options &o) {
			typename Peer::Side side(*static_cast<Peer *>(what), 1);
			echo(side, o);
		},
		[](void *what, const Options &o) {
			typename Peer::Side side(*static_cast<Peer *>(what), 0);
			return drive(side, o);
		}, peer);
}

#endif

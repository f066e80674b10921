/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What both ways through libisolator have in common: a channel to post to, a callback. */
#ifndef BENCH_CHANNEL_LIBRARY_HH
#define BENCH_CHANNEL_LIBRARY_HH

#include <isolator.h>

#include "peers.hh"

class LibrarySide {
public:
	LibrarySide() = default;
	LibrarySide(const LibrarySide &) = delete;
	LibrarySide &operator=(const LibrarySide &) = delete;

	bool post(const Message &message)
	{
		return isolator_post(channel_, TYPE, &message, sizeof(message)) == 0;
	}

protected:
	~LibrarySide() { isolator_channel_close(channel_); }

	/* Has @enrol register @handler, once for each loop, as a program would. */
	template <class Handler, class Enrol>
	void hear(Handler &handler, Enrol &&enrol)
	{
		if (context_ != &handler || callback_ != call<Handler>) {
			context_ = &handler;
			callback_ = call<Handler>;
			enrol(TYPE, callback_, context_);
		}
	}

	isolator_channel *channel_ = nullptr;

private:
	static constexpr unsigned TYPE = 7;

	template <class Handler>
	static void call(void *context, unsigned, const void *data, std::size_t length)
	{
		if (length != sizeof(Message))
			fail("a message has another length");
		(*static_cast<Handler *>(context))(*static_cast<const Message *>(data));
	}

	void *context_ = nullptr;
	isolator_callback callback_ = nullptr;
};

#endif

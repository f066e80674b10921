// SPDX-License-Identifier: GPL-2.0-or-later
/* libisolator's channel, through its public calls and a callback. */
#include <isolator.h>

#include "peers.hh"

namespace {

/* @PAUSE: the caller pauses after a poll that found nothing. */
template <bool PAUSE>
struct Isolator {
	int fd;

	static Isolator *make()
	{
		isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
		static Isolator one;

		options.slots = RING;
		one.fd = isolator_channel_create(&options);
		if (one.fd < 0)
			fail(isolator_strerror(one.fd));
		return &one;
	}

	/* Opened by each process for itself, at an address of its own. */
	class Side {
	public:
		Side(const Isolator &peer, unsigned number)
		{
			int error = isolator_channel_open(peer.fd, number, &channel_);

			if (error)
				fail(isolator_strerror(error));
		}
		~Side() { isolator_channel_close(channel_); }
		Side(const Side &) = delete;
		Side &operator=(const Side &) = delete;

		bool post(const Message &message)
		{
			return isolator_post(channel_, TYPE, &message, sizeof(message)) == 0;
		}

		template <class Handler>
		void poll(Handler &&handler)
		{
			/* Once for each loop, as a program would. */
			if (context_ != &handler || callback_ != call<Handler>) {
				context_ = &handler;
				callback_ = call<Handler>;
				isolator_channel_register(channel_, TYPE, callback_, context_);
			}
			if (isolator_poll(channel_, 1) == 0 && PAUSE)
				pause_cpu();
		}

	private:
		static constexpr unsigned TYPE = 7;

		template <class Handler>
		static void call(void *context, unsigned, const void *data, std::size_t length)
		{
			if (length != sizeof(Message))
				fail("a message has another length");
			(*static_cast<Handler *>(context))(*static_cast<const Message *>(data));
		}

		isolator_channel *channel_ = nullptr;
		void *context_ = nullptr;
		isolator_callback callback_ = nullptr;
	};
};

} // namespace

Result measure_isolator(const Options &options)
{
	return measure<Isolator<false>>(options);
}

Result measure_isolator_pause(const Options &options)
{
	return measure<Isolator<true>>(options);
}

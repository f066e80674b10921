// SPDX-License-Identifier: GPL-2.0-or-later
/* libisolator's channel, through its public calls and a callback. */
#include "library.hh"

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
	class Side : public LibrarySide {
	public:
		Side(const Isolator &peer, unsigned number)
		{
			int error = isolator_channel_open(peer.fd, number, &channel_);

			if (error)
				fail(isolator_strerror(error));
		}

		template <class Handler>
		void poll(Handler &&handler)
		{
			hear(handler, [this](auto... how) { isolator_channel_register(channel_, how...); });
			if (isolator_poll(channel_, 1) == 0 && PAUSE)
				pause_cpu();
		}
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

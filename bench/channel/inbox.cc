// SPDX-License-Identifier: GPL-2.0-or-later
/* libisolator's inbox: one there, one back, each with as many lanes, of which one is used. */
#include "library.hh"

namespace {

template <unsigned LANES>
struct Inboxes {
	int fds[2];

	static Inboxes *make()
	{
		isolator_inbox_options options = ISOLATOR_INBOX_OPTIONS_INIT;
		static Inboxes one;

		options.posters = LANES;
		options.slots = RING;
		for (int &fd : one.fds) {
			fd = isolator_inbox_create(&options);
			if (fd < 0)
				fail(isolator_strerror(fd));
		}
		return &one;
	}

	class Side : public LibrarySide {
	public:
		Side(const Inboxes &peer, unsigned number)
		{
			int error = isolator_inbox_open(peer.fds[number], 0, &inbox_);
			int poster = isolator_inbox_join(peer.fds[1 - number], LANES / 2, &channel_);

			if (error < 0 || poster < 0)
				fail(isolator_strerror(error < 0 ? error : poster));
		}
		~Side() { isolator_inbox_close(inbox_); }

		template <class Handler>
		void poll(Handler &&handler)
		{
			hear(handler, [this](auto... how) { isolator_inbox_register(inbox_, how...); });
			isolator_inbox_poll(inbox_, 1);
		}

	private:
		isolator_inbox *inbox_ = nullptr;
	};
};

} // namespace

Result measure_inbox(const Options &options)
{
	return measure<Inboxes<1>>(options);
}

Result measure_inbox_8(const Options &options)
{
	return measure<Inboxes<8>>(options);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* libisolator's inbox: one there, one back, each with as many lanes, of which one is used. */
#include <isolator.h>

#include "peers.hh"

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

	class Side {
	public:
		Side(const Inboxes &peer, unsigned number)
		{
			int error = isolator_inbox_open(peer.fds[number], 0, &inbox_);
			int poster = isolator_inbox_join(peer.fds[1 - number], LANES / 2, &channel_);

			if (error < 0 || poster < 0)
				fail(isolator_strerror(error < 0 ? error : poster));
		}
		~Side()
		{
			isolator_channel_close(channel_);
			isolator_inbox_close(inbox_);
		}
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
				isolator_inbox_register(inbox_, TYPE, callback_, context_);
			}
			isolator_inbox_poll(inbox_, 1);
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

		isolator_inbox *inbox_ = nullptr;
		isolator_channel *channel_ = nullptr;
		void *context_ = nullptr;
		isolator_callback callback_ = nullptr;
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

// SPDX-License-Identifier: GPL-2.0-or-later
/* ck_ring, for one producer and one consumer. */
#include "ck_pipe.h"
#include "peers.hh"

namespace {

static_assert(CK_PIPE_SLOTS == RING, "rings are of one size");
static_assert(sizeof(ck_message) == sizeof(Message), "messages too");

struct Pipes {
	ck_pipe *pipes[2];

	static Pipes *make()
	{
		static Pipes one;

		for (auto &pipe : one.pipes) {
			pipe = static_cast<ck_pipe *>(shared_memory(ck_pipe_bytes()));
			ck_pipe_begin(pipe);
		}
		return &one;
	}

	class Side {
	public:
		Side(Pipes &pipes, unsigned number)
			: out_(pipes.pipes[number]), in_(pipes.pipes[!number])
		{
		}

		bool post(const Message &message)
		{
			return ck_pipe_push(out_, reinterpret_cast<const ck_message *>(&message));
		}

		template <class Handler>
		void poll(Handler &&handler)
		{
			Message message;

			if (ck_pipe_pop(in_, reinterpret_cast<ck_message *>(&message)))
				handler(message);
		}

	private:
		ck_pipe *out_, *in_;
	};
};

} // namespace

Result measure_ck(const Options &options)
{
	return measure<Pipes>(options);
}

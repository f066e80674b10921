// SPDX-License-Identifier: LGPL-2.1-or-later
// From C++, between two threads: a side that closes itself, and a lambda as callback.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>

#include <isolator.h>

static int checked(const char *call, int result)
{
	if (result < 0) {
		std::fprintf(stderr, "%s: %s\n", call, isolator_strerror(result));
		std::exit(1);
	}
	return result;
}

class Side {
public:
	Side(int fd, unsigned int side)
	{
		checked("isolator_channel_open", isolator_channel_open(fd, side, &channel_));
	}
	~Side() { isolator_channel_close(channel_); }
	Side(const Side &) = delete;
	Side &operator=(const Side &) = delete;

	bool post(unsigned int type, const std::string &text)
	{
		return isolator_post(channel_, type, text.data(), text.size()) == 0;
	}

	template <class Handler>
	void on(unsigned int type, Handler &handler)
	{
		checked("isolator_channel_register", isolator_channel_register(channel_, type,
			[](void *context, unsigned int, const void *data, size_t length) {
				(*static_cast<Handler *>(context))(
					std::string(static_cast<const char *>(data), length));
			}, &handler));
	}

	int poll() { return isolator_poll(channel_, 8); }

private:
	isolator_channel *channel_ = nullptr;
};

int main()
{
	constexpr unsigned int letter = 1;
	constexpr int count = 1000;
	isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	const int fd = checked("isolator_channel_create", isolator_channel_create(&options));
	int right = 0, received = 0;

	std::thread sender([fd] {
		Side side(fd, ISOLATOR_SIDE_A);

		// Some take one slot, some several.
		for (int i = 0; i < count; i++)
			while (!side.post(letter, std::to_string(i) + std::string(i % 200, '.')))
				std::this_thread::yield();
	});
	{
		Side side(fd, ISOLATOR_SIDE_B);
		auto receive = [&](const std::string &text) {
			right += std::atoi(text.c_str()) == received;
			received++;
		};

		side.on(letter, receive);
		while (received < count)
			if (side.poll() == 0)
				std::this_thread::yield();
	}
	sender.join();
	close(fd);
	std::printf("%d letters, %d of them right\n", received, right);
	return right == count ? 0 : 1;
}

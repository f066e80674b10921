// SPDX-License-Identifier: LGPL-2.1-or-later
// From C++: a guard that cannot forget to stop, and ticks only when one is due.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "example.h"

class Isolation {
public:
	explicit Isolation(unsigned int mask) : achieved_(isolator_start(mask)) {}
	~Isolation()
	{
		if (achieved_ >= 0)
			isolator_stop();
	}
	Isolation(const Isolation &) = delete;
	Isolation &operator=(const Isolation &) = delete;
	int achieved() const { return achieved_; }

private:
	int achieved_;
};

int main()
{
	std::atomic<int> letters{0};
	int seen = 0;

	// New threads are not isolated and start on housekeeping CPUs.
	std::thread sender([&letters] {
		for (int i = 0; i < 100; i++) {
			letters.fetch_add(1, std::memory_order_release);
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		}
	});
	{
		example_pin();
		Isolation isolation(ISOLATOR_MASK_ALL);

		if (isolation.achieved() < 0) {
			sender.join();
			example_fail("isolator_start", isolation.achieved());
		}
		while (seen < 100) {
			seen = letters.load(std::memory_order_acquire);
			if (isolator_due() != 0)
				isolator_tick(TICK_ALL);
		}
	}
	sender.join();
	std::printf("%d letters, %llu ticks entered the kernel\n", seen,
		    static_cast<unsigned long long>(isolator_page()->ticks));
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
// From C++: what allocates behind one's back.  Every operator new of this program is
// counted; the loop may make none, and a loop that does shows that the count works.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "example.h"

static thread_local unsigned long allocations;

void *operator new(std::size_t bytes)
{
	void *block = std::malloc(bytes ? bytes : 1);

	allocations++;
	if (!block)
		throw std::bad_alloc();
	return block;
}

void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }

// Room made beforehand, no exception, no node of a container, no copy of a string.
class Median {
public:
	Median() { sorted_.reserve(window_.size()); }

	double add(double value) noexcept
	{
		window_[next_++ % window_.size()] = value;
		sorted_.assign(window_.begin(), window_.end());
		auto middle = sorted_.begin() + sorted_.size() / 2;
		std::nth_element(sorted_.begin(), middle, sorted_.end());
		return *middle;
	}

private:
	std::array<double, 31> window_{};
	std::vector<double> sorted_;
	std::size_t next_ = 0;
};

static std::size_t by_copy(std::string text) { return text.size(); }
static std::size_t by_view(std::string_view text) { return text.size(); }

int main()
{
	const std::string name = "a name that is longer than what a string holds in itself";
	std::size_t bytes = 0;
	double median = 0;
	Median filter;

	example_pin();
	const bool isolated = example_isolate();

	const unsigned long before = allocations;
	for (int i = 0; i < 100000; i++) {
		median = filter.add(i % 31);
		bytes += by_view(name);
		if (isolated)
			isolator_tick(TICK_ALL);
	}
	const unsigned long loop = allocations - before;
	if (isolated)
		isolator_stop();

	for (int i = 0; i < 10; i++)
		bytes += by_copy(name);
	std::printf("median %.0f, %zu bytes of names; %lu allocations in the loop, %lu by 10 copies of a string\n",
		    median, bytes, loop, allocations - before - loop);
	return loop == 0 && allocations - before == 10 && median == 15 ? 0 : 1;
}

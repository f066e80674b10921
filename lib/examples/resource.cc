// SPDX-License-Identifier: LGPL-2.1-or-later
// From C++: the pool behind the standard containers, by std::pmr.
#include <cstdio>
#include <list>
#include <memory_resource>
#include <new>

#include "example.h"

class Pool : public std::pmr::memory_resource {
public:
	Pool()
	{
		isolator_pool_options options = ISOLATOR_POOL_OPTIONS_INIT;

		options.flags = ISOLATOR_POOL_NO_MLOCK;
		error_ = isolator_pool_create(&options, &pool_);
		if (error_ >= 0)
			error_ = isolator_pool_use(pool_);
	}
	~Pool() override
	{
		if (pool_)
			isolator_pool_destroy(pool_);
	}
	Pool(const Pool &) = delete;
	Pool &operator=(const Pool &) = delete;
	int error() const { return error_; }
	isolator_pool_stats stats() const
	{
		isolator_pool_stats stats = ISOLATOR_POOL_STATS_INIT;

		isolator_pool_stat(pool_, &stats);
		return stats;
	}

private:
	void *do_allocate(std::size_t bytes, std::size_t alignment) override
	{
		// A block of at least a cache line is aligned to one.
		if (alignment > ISOLATOR_ALLOC_ALIGN && bytes < ISOLATOR_ALLOC_LINE)
			bytes = ISOLATOR_ALLOC_LINE;
		void *block = alignment > ISOLATOR_ALLOC_LINE ? nullptr : isolator_alloc(bytes);

		if (!block)
			throw std::bad_alloc();
		return block;
	}
	void do_deallocate(void *block, std::size_t, std::size_t) override
	{
		isolator_free(block);
	}
	bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
	{
		return this == &other;
	}

	isolator_pool *pool_ = nullptr;
	int error_;
};

int main()
{
	example_pin();
	Pool pool;

	if (pool.error() < 0) {
		std::fprintf(stderr, "pool: %s\n", isolator_strerror(pool.error()));
		return 1;
	}
	{
		std::pmr::list<int> numbers(&pool);

		for (int i = 0; i < 1000; i++)
			numbers.push_back(i);
		std::printf("%zu numbers in %llu bytes\n", numbers.size(),
			    static_cast<unsigned long long>(pool.stats().used_bytes));
	}
	return pool.stats().used_bytes ? 1 : 0;
}

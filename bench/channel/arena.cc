// SPDX-License-Identifier: GPL-2.0-or-later
/* malloc and free of this program are linked to the two below (-Wl,--wrap). */
#include "arena.hh"

#include <cstdint>

#include "trip.hh"

static constexpr std::size_t ARENA = 4U << 20;

static char *arena;
static std::size_t used;
static bool in_use;

extern "C" {
void *__real_malloc(std::size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(std::size_t bytes);
void __wrap_free(void *memory);
}

void *__wrap_malloc(std::size_t bytes)
{
	return in_use ? arena_take(bytes) : __real_malloc(bytes);
}

void __wrap_free(void *memory)
{
	auto at = reinterpret_cast<std::uintptr_t>(memory);
	auto begin = reinterpret_cast<std::uintptr_t>(arena);

	if (!arena || at - begin >= ARENA)
		__real_free(memory);
}

void arena_begin()
{
	if (!arena)
		arena = static_cast<char *>(shared_memory(ARENA));
	in_use = true;
}

void arena_end()
{
	in_use = false;
}

void *arena_take(std::size_t bytes)
{
	void *memory = arena + used;

	used += (bytes + 63) & ~std::size_t(63);
	if (!arena || used > ARENA)
		fail("the arena is too small");
	return memory;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared memory for peers that allocate for themselves.  All of it is taken before
 * the fork, and none is given back.
 */
#ifndef BENCH_CHANNEL_ARENA_HH
#define BENCH_CHANNEL_ARENA_HH

#include <cstddef>

/* From here on until arena_end(), malloc() is arena_take(). */
void arena_begin();
void arena_end();
void *arena_take(std::size_t bytes);

#endif

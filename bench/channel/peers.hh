/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function for each peer; each peer's headers stay in its own file. */
#ifndef BENCH_CHANNEL_PEERS_HH
#define BENCH_CHANNEL_PEERS_HH

#include "trip.hh"

Result measure_floor(const Options &options);
Result measure_isolator(const Options &options);
/* With one lane, and with eight. */
Result measure_inbox(const Options &options);
Result measure_inbox_8(const Options &options);
/* The first two, pausing while they wait. */
Result measure_floor_pause(const Options &options);
Result measure_isolator_pause(const Options &options);
Result measure_atomic_queue(const Options &options);
Result measure_boost(const Options &options);
Result measure_ck(const Options &options);
Result measure_concurrentqueue(const Options &options);
Result measure_dpdk(const Options &options);
Result measure_readerwriterqueue(const Options &options);
Result measure_urcu(const Options &options);

#endif

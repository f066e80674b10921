// SPDX-License-Identifier: GPL-2.0-or-later
/* One peer, measured once: a line of JSON.  tools/bench channel calls it in rounds. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>

#include "peers.hh"

static const struct {
	const char *name;
	Result (*measure)(const Options &options);
} peers[] = {
	{ "floor", measure_floor },
	{ "isolator", measure_isolator },
	{ "inbox", measure_inbox },
	{ "inbox-8", measure_inbox_8 },
	{ "floor-pause", measure_floor_pause },
	{ "isolator-pause", measure_isolator_pause },
	{ "atomic_queue", measure_atomic_queue },
	{ "boost-spsc", measure_boost },
	{ "ck_ring", measure_ck },
	{ "concurrentqueue", measure_concurrentqueue },
	{ "readerwriterqueue", measure_readerwriterqueue },
	{ "rte_ring", measure_dpdk },
	{ "wfcqueue", measure_urcu },
};

static void usage(std::FILE *to)
{
	std::fprintf(to,
		"usage: channel-trip [--cpus A,B] PEER\n"
		"\n"
		"Round trips of a 56-byte message between two processes, one on each CPU, and a\n"
		"stream of them in one direction; ns a trip, ns a message.\n"
		"\n"
		"  --cpus A,B    default 0,1\n"
		"\n"
		"peers:");
	for (const auto &peer : peers)
		std::fprintf(to, " %s", peer.name);
	std::fprintf(to, "\n\nexample: channel-trip --cpus 2,3 isolator\n");
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "cpus", required_argument, nullptr, 'c' },
		{ "help", no_argument, nullptr, 'h' },
		{ nullptr, 0, nullptr, 0 },
	};
	Options options;
	char rest;
	int what;

	while ((what = getopt_long(argc, argv, "h", known, nullptr)) != -1) {
		if (what == 'h') {
			usage(stdout);
			return 0;
		}
		if (what != 'c' || std::sscanf(optarg, "%d,%d%c", &options.cpus[0],
					       &options.cpus[1], &rest) != 2 ||
		    options.cpus[0] < 0 || options.cpus[1] < 0 ||
		    options.cpus[0] == options.cpus[1]) {
			usage(stderr);
			return 1;
		}
	}
	for (const auto &peer : peers) {
		if (optind + 1 != argc || std::strcmp(peer.name, argv[optind]) != 0)
			continue;

		Result result = peer.measure(options);

		std::printf("{\"peer\": \"%s\", \"ns_min\": %.1f, \"ns_p50\": %.1f, "
			    "\"ns_p99\": %.1f, \"ns_message\": %.2f}\n", peer.name, result.min,
			    result.p50, result.p99, result.stream);
		return 0;
	}
	usage(stderr);
	return 1;
}

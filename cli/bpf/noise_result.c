// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.h"
#include "bpf/noise.h"

struct noise_total noise_total(const struct noise_run *run)
{
	uint64_t length = run->ended_ns - run->began_ns, sampled = 0, sampled_ns = 0;
	struct noise_total total = { 0 };

	for (size_t i = 0; i < run->nr_cpus; i++) {
		const struct record_state *state = &run->cpus[i].state;

		total.losses += state->losses;
		total.lost_ns += state->lost_ns;
		if (state->worst_ns > total.worst_ns) {
			total.worst_ns = state->worst_ns;
			total.worst_at_ns = state->worst_at_ns;
		}
		total.above += state->above;
		total.dropped += state->dropped;
		total.events += state->events;
		total.unmatched += state->unmatched;
		total.crowded += state->crowded;
		total.uncounted += state->uncounted;
		total.unseen += state->unseen;
		sampled += state->sampled;
		sampled_ns += state->sampled_ns;
	}
	if (sampled)
		total.event_ns = sampled_ns / sampled;
	if (length && run->nr_cpus)
		total.share = (double)(total.event_ns * total.events) /
			((double)length * (double)run->nr_cpus);
	return total;
}

bool noise_complete(const struct noise_run *run)
{
	return !noise_total(run).uncounted && !run->cost.missed;
}

int noise_exit(const struct noise_run *run)
{
	if (run->options->limit_ns && noise_total(run).worst_ns > run->options->limit_ns)
		return EXIT_EXCEEDED;
	return noise_complete(run) ? EXIT_PASS : EXIT_INCONCLUSIVE;
}

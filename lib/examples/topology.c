// SPDX-License-Identifier: LGPL-2.1-or-later
/* Which CPU of this machine to isolate, and why; of another one: topology ROOT. */
#include <stdio.h>

#include <isolator.h>

int main(int argc, char **argv)
{
	struct isolator_topology_options options = ISOLATOR_TOPOLOGY_OPTIONS_INIT;
	struct isolator_candidate best[3];
	struct isolator_topology *topology;
	char online[256], housekeeping[256];
	size_t count = 0;
	int missing, can;

	if (argc > 1)
		options.root = argv[1];
	missing = isolator_topology_read(&options, &topology);
	if (missing < 0) {
		fprintf(stderr, "isolator_topology_read: %s\n", isolator_strerror(missing));
		return 1;
	}
	isolator_topology_list(topology, ISOLATOR_CPU_ONLINE, online, sizeof(online));
	isolator_topology_list(topology, ISOLATOR_CPU_HOUSEKEEPING, housekeeping,
			       sizeof(housekeeping));
	printf("online %s, housekeeping %s\n", online, housekeeping);
	if (missing & ISOLATOR_TOPOLOGY_NO_CORES)
		printf("which CPUs share a core is not known\n");
	can = isolator_topology_best(topology, best, sizeof(best) / sizeof(best[0]), &count);
	for (size_t i = 0; i < count; i++)
		printf("%s CPU %d (%d): %s\n",
		       best[i].why & ISOLATOR_WHY_CANNOT ? "cannot be isolated:" :
		       i == 0 ? "best:" : "then:", best[i].cpu, best[i].score, best[i].text);
	isolator_topology_free(topology);
	return can < 0 ? 1 : 0;
}

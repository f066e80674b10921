// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What isolator status shows of the second of two states:  view SECONDS BEFORE NOW
 * The states of the command itself are a time apart that no test can know.
 */
#include <stdlib.h>

#include "base/cpulist.h"
#include "status/state.h"

int main(int argc, char **argv)
{
	struct state before, now;
	struct cpulist all = { 0 };
	struct state_view view = {
		.now = &now, .before = &before, .only = &all, .top = 10,
	};

	if (argc != 4 || state_read(&before, argv[2], "nowhere") ||
	    state_read(&now, argv[3], "nowhere"))
		return 1;
	before.sample.taken_ns = 0;
	now.sample.taken_ns = (uint64_t)(strtod(argv[1], NULL) * 1e9);
	state_text(stdout, &view);
	state_free(&before);
	state_free(&now);
	return 0;
}

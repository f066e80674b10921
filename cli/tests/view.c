// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What isolator stat shows of the second of two samples:  view SECONDS BEFORE NOW
 * The samples of the command itself are a time apart that no test can know.
 */
#include <stdlib.h>

#include "base/cpulist.h"
#include "status/stat.h"

int main(int argc, char **argv)
{
	struct proc_sample before, now;
	struct cpulist all = { 0 };
	struct stat_view view = {
		.now = &now, .before = &before, .only = &all, .top = 10,
	};

	if (argc != 4 || proc_read(argv[2], false, &before) || proc_read(argv[3], false, &now))
		return 1;
	before.taken_ns = 0;
	now.taken_ns = (uint64_t)(strtod(argv[1], NULL) * 1e9);
	stat_text(stdout, &view);
	proc_free(&before);
	proc_free(&now);
	return 0;
}

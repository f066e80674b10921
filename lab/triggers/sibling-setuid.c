// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-setuid
 * row: 110, 50
 * class: queue
 * kind: self
 * notick: no
 * about: a sibling thread changes groups and user: the C library has every thread do the same
 */
#include <grp.h>
#include "selftrigger.h"
#include "spin.h"

enum { GROUP = 4242 };

/* Is the isolated thread in that group? */
static bool has_group(void)
{
	char name[64], line[256], want[16];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/task/%d/status", spin.tid);
	snprintf(want, sizeof(want), "%d", GROUP);
	f = fopen(name, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Groups:", 7))
			found = strstr(line, want);
	if (f)
		fclose(f);
	return found;
}

static void run(struct self_answer *answer)
{
	const gid_t group = GROUP;
	gid_t home[64];
	int n = getgroups(64, home), seen = 0;

	if (n < 0) {
		self_say(answer, false, "getgroups failed");
		return;
	}
	seen += !setgroups(1, &group) && has_group();
	seen += !setgroups((size_t)n, home) && !has_group();
	seen += !setuid(getuid());
	self_say(answer, seen == 3, "%d of 3 changes reached the isolated thread", seen);
}

SELF_TRIGGER(sibling_setuid, "sibling-setuid", run);

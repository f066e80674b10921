// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/setting.h"
#include "base/text.h"
#include "machine/online.h"

int online_read(const char *root, struct cpulist *online)
{
	char *text = setting_read(root, ONLINE_PATH), *list = text ? text_trim(text) : NULL;
	int error = 0;

	if (!list || !cpulist_read(list, online) || cpulist_empty(online)) {
		error_say("%s: %s: the CPUs of this machine are not known; mount /sys", ONLINE_PATH,
			  list ? "it is not a list of CPUs" : strerror(errno));
		error = -1;
	}
	free(list);
	free(text);
	return error;
}

int online_check(const char *option, const struct cpulist *cpus, const struct cpulist *online)
{
	struct cpulist missing = *cpus;
	char *lacking, *there;

	cpulist_minus(&missing, online);
	if (cpulist_empty(&missing))
		return 0;
	lacking = cpulist_text(&missing);
	there = cpulist_text(online);
	error_say("%s: %s not online; online are %s", error_option(option), lacking, there);
	free(lacking);
	free(there);
	return -1;
}

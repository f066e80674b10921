// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "array.h"
#include "proc_text.h"

void proc_text_nothing(FILE *out, const struct proc_sample *sample,
		       const struct cpulist *only)
{
	if (*sample->isolated && only->given) {
		fprintf(out, "None of these CPUs is isolated; isolated: %s.\n", sample->isolated);
		return;
	}
	fputs("No CPU is isolated.\n", out);
	if (*sample->allowed)
		fprintf(out, "To isolate one of those allowed (%s), bind a program to it that calls isolator_start(3):\n"
			"  taskset -c CPU PROGRAM\n", sample->allowed);
	else
		fputs("None may be. Allow some, as root, then bind a program to one that calls isolator_start(3):\n"
		      "  echo LIST > /proc/isolator/cpus\n"
		      "  taskset -c CPU PROGRAM\n", out);
}

void proc_text_names(FILE *out, const struct proc_sample *sample, const char *command)
{
	if (sample->names == NAMES_DENIED)
		fprintf(out, "Not shown: senders and callbacks, which are for root: sudo isolator %s\n",
			command);
	else if (sample->names == NAMES_ABSENT)
		fputs("Not shown: senders, which this kernel does not keep (no file senders): it is older than this command\n",
		      out);
}

const char *proc_text_end(const char *end)
{
	static const struct {
		const char *word, *text;
	} ends[] = {
		{ "stop", "the program stopped it" },
		{ "exit", "the thread exited" },
		{ "exec", "the thread executed another program" },
		{ "affinity", "a cpuset or an affinity change took the CPU away" },
		{ "hotplug", "the CPU went offline" },
		{ "system", "the system suspends, reboots or starts another kernel" },
		{ "admin", "an administrator took the CPU out of /proc/isolator/cpus" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (!strcmp(ends[i].word, end))
			return ends[i].text;
	return end;
}

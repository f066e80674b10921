// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "base/wait.h"
#include "machine/online.h"
#include "status/state.h"

int state_check(const struct cpulist *only, const char *directory, const char *root)
{
	struct cpulist online;

	if (!only->given || strcmp(directory, PROC_DIRECTORY))
		return 0;
	return online_read(root, &online) ? -1 : online_check("cpu", only, &online);
}

int state_read(struct state *state, const char *directory, const char *root)
{
	*state = (struct state){ 0 };
	if (proc_read(directory, false, &state->sample))
		return -1;
	if (limits_read(directory, &state->limits)) {
		proc_free(&state->sample);
		return -1;
	}
	if (*state->sample.isolated)
		holders_find(&state->holders, root, &state->sample);
	return 0;
}

void state_free(struct state *state)
{
	holders_free(&state->holders);
	limits_free(&state->limits);
	proc_free(&state->sample);
}

const struct proc_cpu *state_before(const struct state_view *view, const struct proc_cpu *cpu)
{
	const struct proc_cpu *before = view->before ?
		proc_cpu(&view->before->sample, cpu->cpu) : NULL;
	struct counts since;

	if (!before || !before->isolated || !proc_since(cpu, before, &since))
		return NULL;
	return before;
}

double state_seconds(const struct state_view *view)
{
	if (!view->before)
		return 0;
	return (double)(view->now->sample.taken_ns - view->before->sample.taken_ns) / WAIT_SECOND;
}

const struct proc_sender *state_longest(const struct proc_cpu *cpu)
{
	const struct proc_kind *kind = proc_longest(cpu);
	const struct proc_sender *longest = NULL;

	/* One that is not of this kind had another wait; of "others" nobody knows. */
	for (size_t i = 0; kind && i < cpu->nr_senders; i++) {
		const struct proc_sender *sender = &cpu->senders[i];

		if ((!strcmp(sender->kind, kind->name) || !strcmp(sender->kind, "others")) &&
		    sender->longest_ns > (longest ? longest->longest_ns : 0))
			longest = sender;
	}
	return longest;
}

bool state_shows(const struct state_view *view, const struct proc_cpu *cpu)
{
	return cpu->isolated && cpulist_has(view->only, cpu->cpu);
}

bool state_any(const struct state_view *view)
{
	for (size_t i = 0; i < view->now->sample.nr_cpus; i++)
		if (state_shows(view, &view->now->sample.cpus[i]))
			return true;
	return false;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/setting.h"
#include "base/text.h"
#include "base/wait.h"
#include "machine/look.h"

/* More interrupts a second than any CPU can take. */
#define FASTEST 1e7

const char *const look_paths[LOOK_LISTS] = {
	[LOOK_INTERRUPTS] = INTERRUPTS_PATH,
	[LOOK_SOFTIRQS] = SOFTIRQS_PATH,
};

void look_take(struct look *look, const char *root, const struct cpulist *cpus)
{
	*look = (struct look){ .taken_ns = wait_clock_ns() };
	for (size_t i = 0; i < LOOK_LISTS; i++) {
		char *text = setting_read(root, look_paths[i]);

		if (!text)
			look->errors[i] = errno;
		else if (!interrupts_parse(&look->lists[i], text, cpus))
			look->errors[i] = EBADMSG;
		free(text);
	}
}

void look_free(struct look *look)
{
	for (size_t i = 0; i < LOOK_LISTS; i++)
		interrupts_free(&look->lists[i]);
	*look = (struct look){ 0 };
}

double look_seconds(const struct look *before, const struct look *now)
{
	return (double)(now->taken_ns - before->taken_ns) / WAIT_SECOND;
}

static struct cpulist cpus_of(const struct interrupts *interrupts)
{
	struct cpulist cpus = { .given = true };

	for (size_t i = 0; i < interrupts->columns; i++)
		cpulist_add(&cpus, interrupts->cpus[i]);
	return cpus;
}

void since_make(struct since *since, const struct look *before, const struct look *now,
		double seconds)
{
	const struct interrupts *was = &before->lists[LOOK_INTERRUPTS];
	const struct interrupts *is = &now->lists[LOOK_INTERRUPTS];
	double most = seconds * FASTEST;

	*since = (struct since){ .came = cpus_of(is), .left = cpus_of(was) };
	since->both = since->came;
	cpulist_minus(&since->came, &since->left);
	cpulist_minus(&since->left, &since->both);
	cpulist_minus(&since->both, &since->came);
	for (size_t i = 0; i < LOOK_LISTS; i++)
		interrupts_between(&since->lists[i], &before->lists[i], &now->lists[i],
				   most < INTERRUPTS_MOST ? (uint64_t)most : INTERRUPTS_MOST);
	for (size_t i = 0; i < was->count; i++)
		if (!interrupts_find(is, was->rows[i].label, i))
			*ARRAY_ADD(since->gone, since->nr_gone) =
				text_format("%s", was->rows[i].label);
}

void since_free(struct since *since)
{
	for (size_t i = 0; i < LOOK_LISTS; i++)
		interrupts_free(&since->lists[i]);
	for (size_t i = 0; i < since->nr_gone; i++)
		free(since->gone[i]);
	free(since->gone);
	*since = (struct since){ 0 };
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"
#include "machine/task.h"
#include "proc/holder.h"

void holders_find(struct holders *holders, const char *root, const struct proc_sample *sample)
{
	for (size_t i = 0; i < sample->nr_cpus; i++) {
		const struct proc_cpu *cpu = &sample->cpus[i];
		char *tid = text_format("%d", cpu->owner);
		struct task task;

		if (cpu->isolated && cpu->owner && task_read(&task, root, tid)) {
			*ARRAY_ADD(holders->list, holders->count) = (struct holder){
				.cpu = cpu->cpu,
				.pid = task.pid,
				.tid = cpu->owner,
				.name = text_format("%s", task.name),
			};
			task_free(&task);
		}
		free(tid);
	}
}

const struct holder *holders_of(const struct holders *holders, const struct proc_cpu *cpu)
{
	for (size_t i = 0; i < holders->count; i++)
		if (holders->list[i].cpu == cpu->cpu)
			return &holders->list[i];
	return NULL;
}

void holders_free(struct holders *holders)
{
	for (size_t i = 0; i < holders->count; i++)
		free(holders->list[i].name);
	free(holders->list);
	*holders = (struct holders){ 0 };
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/root.h"
#include "base/text.h"
#include "machine/task.h"
#include "proc/device.h"
#include "proc/holder.h"

/* The next entry whose name is a number; NULL: there is none. */
static const char *next_number(DIR *directory)
{
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (text_is_number(entry->d_name))
			return entry->d_name;
	return NULL;
}

static DIR *open_directory(const char *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static DIR *open_directory(const char *root, const char *format, ...)
{
	va_list arguments;
	char *path;
	int fd;

	va_start(arguments, format);
	path = text_formatv(format, arguments);
	va_end(arguments);
	fd = root_open(root, path, O_RDONLY | O_DIRECTORY);
	free(path);
	return fd < 0 ? NULL : fdopendir(fd);
}

static void close_directory(DIR *directory)
{
	if (directory)
		closedir(directory);
}

static bool has_device(const char *root, const char *pid)
{
	DIR *files = open_directory(root, "/proc/%s/fd", pid);
	const char *name;
	bool found = false;

	while (!found && (name = next_number(files))) {
		char target[sizeof(DEVICE_PATH) + 1];
		ssize_t n = readlinkat(dirfd(files), name, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		found = !strcmp(target, DEVICE_PATH);
	}
	close_directory(files);
	return found;
}

static void add(struct holders *holders, int cpu, const struct task *task)
{
	*ARRAY_ADD(holders->list, holders->count) = (struct holder){
		.cpu = cpu,
		.pid = task->pid,
		.tid = atoi(task->tid),
		.name = text_format("%s", task->name),
	};
}

/* Is it isolated, and does the kernel not say by whom? */
static bool is_unsaid(const struct proc_cpu *cpu)
{
	return cpu && cpu->isolated && cpu->owner == PROC_UNSAID;
}

static void look_at(struct holders *holders, const char *root, const struct proc_sample *sample,
		    const char *tid)
{
	struct task task;
	int cpu;

	if (!task_read(&task, root, tid))
		return;
	cpu = cpulist_next(&task.cpus, -1);
	if (cpulist_next(&task.cpus, cpu) < 0 && is_unsaid(proc_cpu(sample, cpu)))
		add(holders, cpu, &task);
	task_free(&task);
}

static void look_at_owner(struct holders *holders, const char *root, const struct proc_cpu *cpu)
{
	char *tid = text_format("%d", cpu->owner);
	struct task task;

	if (task_read(&task, root, tid)) {
		add(holders, cpu->cpu, &task);
		task_free(&task);
	}
	free(tid);
}

/* Those of CPUs whose owner is not said. */
static void search(struct holders *holders, const char *root, const struct proc_sample *sample)
{
	DIR *processes = open_directory(root, "/proc");
	const char *pid, *tid;

	while ((pid = next_number(processes))) {
		DIR *threads = has_device(root, pid) ?
			open_directory(root, "/proc/%s/task", pid) : NULL;

		while ((tid = next_number(threads)))
			look_at(holders, root, sample, tid);
		close_directory(threads);
	}
	close_directory(processes);
}

void holders_find(struct holders *holders, const char *root, const struct proc_sample *sample)
{
	bool unsaid = false;

	for (size_t i = 0; i < sample->nr_cpus; i++) {
		const struct proc_cpu *cpu = &sample->cpus[i];

		unsaid |= is_unsaid(cpu);
		if (cpu->isolated && cpu->owner > 0)
			look_at_owner(holders, root, cpu);
	}
	if (unsaid)
		search(holders, root, sample);
}

void holders_free(struct holders *holders)
{
	for (size_t i = 0; i < holders->count; i++)
		free(holders->list[i].name);
	free(holders->list);
	*holders = (struct holders){ 0 };
}

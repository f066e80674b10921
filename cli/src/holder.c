// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "device.h"
#include "holder.h"
#include "proc.h"
#include "root.h"
#include "task.h"
#include "text.h"

/* The next entry whose name is a number; NULL: there is none. */
static const char *next_number(DIR *directory)
{
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (isdigit((unsigned char)*entry->d_name))
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

static void look_at(struct holders *holders, const char *root, const char *pid, const char *tid)
{
	struct task task;
	int cpu;

	if (!task_read(&task, root, tid))
		return;
	cpu = cpulist_next(&task.cpus, -1);
	if (cpu >= 0 && cpulist_next(&task.cpus, cpu) < 0)
		*ARRAY_ADD(holders->list, holders->count) = (struct holder){
			.cpu = cpu,
			.pid = atoi(pid),
			.tid = atoi(tid),
			.name = text_format("%s", task.name),
		};
	task_free(&task);
}

void holders_find(struct holders *holders, const char *root)
{
	DIR *processes = open_directory(root, "/proc");
	const char *pid, *tid;

	while ((pid = next_number(processes))) {
		DIR *threads = has_device(root, pid) ?
			open_directory(root, "/proc/%s/task", pid) : NULL;

		while ((tid = next_number(threads)))
			look_at(holders, root, pid, tid);
		close_directory(threads);
	}
	close_directory(processes);
}

void holders_free(struct holders *holders)
{
	for (size_t i = 0; i < holders->count; i++)
		free(holders->list[i].name);
	free(holders->list);
	*holders = (struct holders){ 0 };
}

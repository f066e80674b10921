// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads of the program that are to be isolated: named, or pinned by themselves. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/root.h"
#include "base/text.h"
#include "machine/task.h"
#include "proc/device.h"
#include "run/run.h"

#define NOBODY (-1)

int run_threads_parse(struct run *run)
{
	for (size_t i = 0; i < run->named.count; i++) {
		const char *text = run->named.texts[i], *equals = strrchr(text, '=');
		struct run_thread *thread;
		struct cpulist cpu = { 0 };
		int number = -1;

		if (equals && cpulist_parse(equals + 1, &cpu))
			number = cpulist_next(&cpu, -1);
		if (number < 0 || cpulist_next(&cpu, number) >= 0 || equals == text ||
		    equals - text >= ISOLATE_NAME) {
			error_say("--thread: \"%s\" is not NAME=CPU, a name of 1 to %d bytes and one CPU, such as control=3",
				  text, ISOLATE_NAME - 1);
			return -1;
		}
		if (!run->cpus.given || !cpulist_has(&run->cpus, number)) {
			error_say("--thread %s: CPU %d is not in --cpu", text, number);
			return -1;
		}
		for (size_t k = 0; k < run->nr_threads; k++)
			if (run->threads[k].cpu == number) {
				error_say("--thread %s: CPU %d is another thread's already", text,
					  number);
				return -1;
			}
		thread = ARRAY_ADD(run->threads, run->nr_threads);
		thread->cpu = number;
		snprintf(thread->name, sizeof(thread->name), "%.*s", (int)(equals - text), text);
	}
	if (run->nr_threads && !run->rest.given) {
		error_say("--thread needs --rest: the CPUs for the program's other threads");
		return -1;
	}
	return 0;
}

/* The CPU that a thread of this name is to have; NOBODY: there is none. */
static int named(struct run *run, const char *name)
{
	for (size_t i = 0; i < run->nr_threads; i++)
		if (!strcmp(run->threads[i].name, name))
			return run->threads[i].cpu;
	return NOBODY;
}

/* Is the CPU some thread's who lives? */
static bool taken(struct run *run, int cpu)
{
	bool is = false;

	for (size_t i = 0; i < run->nr_tasks; i++) {
		struct isolate *isolate = run->tasks[i];
		char *tid = text_format("%d", (int)isolate->tid);
		struct task task;

		if (isolate->cpu == cpu &&
		    (isolate->state == ISOLATE_ASKED || isolate->state == ISOLATE_ON)) {
			if (task_read(&task, run->root, tid)) {
				is |= !strcmp(task.start, isolate->start);
				task_free(&task);
			}
			if (!is && isolate->state == ISOLATE_ON)
				isolate->state = ISOLATE_GONE;
		}
		free(tid);
	}
	return is;
}

static bool asked(const struct run *run, const struct task *task)
{
	for (size_t i = 0; i < run->nr_tasks; i++)
		if (run->tasks[i]->tid == (pid_t)strtol(task->tid, NULL, 10) &&
		    !strcmp(run->tasks[i]->start, task->start))
			return true;
	return false;
}

/* The only CPU of the list that is to be quiet; NOBODY: it names others, too. */
static int alone(const struct run *run, const struct cpulist *cpus)
{
	int first = cpulist_next(cpus, -1);

	return first >= 0 && cpulist_next(cpus, first) < 0 && cpulist_has(&run->cpus, first) ?
		first : NOBODY;
}

static void isolate_thread(struct run *run, const struct task *task, const char *name, int cpu,
			   bool by_name)
{
	struct cpulist one = { .given = true };
	struct isolate *isolate;

	cpulist_add(&one, cpu);
	isolate = run_start_add(run, (pid_t)strtol(task->tid, NULL, 10), cpu,
				by_name ? "name" : "affinity", name);
	isolate->start = text_format("%s", task->start);
	if (by_name && memcmp(task->cpus.bits, one.bits, sizeof(one.bits)))
		isolate->error = task_set(task, &one);
	if (!isolate->error && run->isolate)
		isolate->error = isolate_ask(isolate);
	if (isolate->error) {
		isolate->state = isolate->error == ESRCH ? ISOLATE_GONE : ISOLATE_REFUSED;
		if (run_start_tell(run))
			error_say("thread %s (%s) cannot be pinned to CPU %d: %s", task->tid, name,
				  cpu, strerror(isolate->error));
	}
}

static void look_at(struct run *run, const char *tid)
{
	struct task task;
	char *name;
	int cpu;

	if (!task_read(&task, run->root, tid))
		return;
	name = task_name(&task);
	if (name && !asked(run, &task)) {
		bool by_name = (cpu = named(run, name)) != NOBODY;

		if (!by_name && run->isolate)
			cpu = alone(run, &task.cpus);
		if (cpu != NOBODY && !taken(run, cpu))
			isolate_thread(run, &task, name, cpu, by_name);
	}
	free(name);
	task_free(&task);
}

void run_threads_look(struct run *run, pid_t pid)
{
	char *path = text_format("/proc/%d/task", (int)pid);
	int fd = root_open(run->root, path, O_RDONLY | O_DIRECTORY);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (text_is_number(entry->d_name))
			look_at(run, entry->d_name);
	if (directory)
		closedir(directory);
	free(path);
}

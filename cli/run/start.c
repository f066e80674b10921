// SPDX-License-Identifier: GPL-2.0-or-later
/* What a kernel with Isolator does besides: the program, or threads of it, are isolated. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cpulist.h"
#include "base/error.h"
#include "base/text.h"
#include "base/wait.h"
#include "machine/task.h"
#include "proc/device.h"
#include "proc/proc.h"
#include "run/run.h"

#define GRACE_NS 1000000000	/* for a start, which waits for RCU */
#define TASKS_KEPT 100		/* and the last one of each CPU, and those that live */
#define REFUSALS_SAID 20

bool run_start_at_exec(const struct run *run)
{
	int first = cpulist_next(&run->cpus, -1);

	return !run->rest.given && cpulist_next(&run->cpus, first) < 0;
}

bool run_start_tell(struct run *run)
{
	return ++run->refusals <= REFUSALS_SAID;
}

static void say_refused(struct run *run, const struct isolate *isolate, const char *what)
{
	if (run_start_tell(run))
		error_say("CPU %d is not isolated, %s (%s) was refused: %s: %s", isolate->cpu, what,
			  isolate->name, strerror(isolate->error), device_fix(isolate->error));
}

/* Has it ended, and is there a later one on its CPU? */
static bool is_past(const struct run *run, size_t index)
{
	const struct isolate *isolate = run->tasks[index];
	bool later = false, lives = false;
	struct task task;
	char *tid;

	for (size_t i = index + 1; i < run->nr_tasks && !later; i++)
		later = run->tasks[i]->cpu == isolate->cpu;
	if (!later || isolate->waits || !isolate->start)
		return false;
	tid = text_format("%d", (int)isolate->tid);
	if (task_read(&task, run->root, tid)) {
		lives = !strcmp(task.start, isolate->start);
		task_free(&task);
	}
	free(tid);
	return !lives;
}

/* Where there are too many, the oldest that has ended goes. */
static void drop_past(struct run *run)
{
	for (size_t i = 0; i < run->nr_tasks && run->nr_tasks >= TASKS_KEPT; i++) {
		if (!is_past(run, i))
			continue;
		isolate_free(run->tasks[i]);
		memmove(&run->tasks[i], &run->tasks[i + 1],
			(--run->nr_tasks - i) * sizeof(struct isolate *));
		run->tasks_dropped++;
		return;
	}
}

struct isolate *run_start_add(struct run *run, pid_t tid, int cpu, const char *found,
			      const char *name)
{
	struct isolate *isolate = isolate_new(run->device, tid, cpu, found, &run->wish);

	drop_past(run);
	snprintf(isolate->name, sizeof(isolate->name), "%s", name);
	isolate->starts = run_preload_starts(run);
	*ARRAY_ADD(run->tasks, run->nr_tasks) = isolate;
	return isolate;
}

/* The file's name of the program, as the kernel will call it. */
static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int run_start_arm(struct run *run, pid_t pid)
{
	struct isolate *isolate;

	run->began_ns = wait_clock_ns();
	if (!run->isolate)
		return 0;
	run->device = device_open(run->root);
	if (run->device < 0) {
		error_say("%s: %s: isolator status says what the kernel offers; --best-effort runs the program without",
			  DEVICE_PATH, strerror(errno));
		run->isolate = false;
		return run->best_effort ? 0 : -1;
	}
	if (!run_start_at_exec(run))
		return 0;
	isolate = run_start_add(run, pid, cpulist_next(&run->cpus, -1), "exec",
				name_of(run->argv[0]));
	isolate->error = isolate_arm(isolate);
	if (!isolate->error)
		return 0;
	isolate->state = ISOLATE_REFUSED;
	say_refused(run, isolate, "the start of the program");
	return run->best_effort ? 0 : -1;
}

void run_start_executed(struct run *run)
{
	run->executed_ns = wait_clock_ns();
}

/* What is in force, as long as it is shown; false: no isolation of this run is. */
static bool look_at_status(struct run *run, struct isolate *isolate)
{
	struct proc_sample sample;
	const struct proc_cpu *cpu;
	bool shown = false;

	if (!proc_read_below(run->root, false, &sample)) {
		cpu = proc_cpu(&sample, isolate->cpu);
		shown = cpu && cpu->started_ns >= run->began_ns;
		if (shown && cpu->isolated) {
			isolate->asked.achieved = (uint32_t)cpu->mask;
			isolate->asked.got = (uint32_t)cpu->got;
			isolate->asked.deadline_ns = cpu->deadline_ns;
			isolate->asked.spin_ns = cpu->spin_ns;
			isolate->asked.yield_ns = cpu->yield_ns;
		}
		proc_free(&sample);
	}
	return shown;
}

/*
 * The armed start of the program: shown, or asked for once more, as only who waits is
 * told why it was refused.  An isolated program must not be asked: that would interrupt
 * it.  Returns whether nothing is known yet.
 */
static bool look_at_program(struct run *run, struct isolate *isolate)
{
	if (look_at_status(run, isolate)) {
		isolate->state = ISOLATE_ON;
		return false;
	}
	if (wait_clock_ns() - run->executed_ns < GRACE_NS)
		return true;
	isolate->error = isolate_ask(isolate);
	if (isolate->error) {
		error_say("cannot ask whether the program is isolated: %s",
			  strerror(isolate->error));
		isolate->state = ISOLATE_GONE;
	}
	return !isolate->error;
}

/*
 * Takes the answers that have come; true: others are still to come.  A program that is
 * not isolated is ended if it @lives.
 */
static bool take_answers(struct run *run, pid_t pid, bool lives)
{
	bool waits = false;

	for (size_t i = 0; i < run->nr_tasks; i++) {
		struct isolate *isolate = run->tasks[i];
		bool program = isolate->tid == pid && !strcmp(isolate->found, "exec");

		if (lives && program && isolate->state == ISOLATE_ASKED && !isolate->waits) {
			waits |= look_at_program(run, isolate);
			continue;
		}
		if (!isolate_answered(isolate)) {
			waits |= isolate->waits;
			continue;
		}
		if (isolate->state == ISOLATE_ON)
			look_at_status(run, isolate);
		if (isolate->state != ISOLATE_REFUSED)
			continue;
		say_refused(run, isolate, program ? "the start of the program" : "that of a thread");
		if (program && lives && !run->best_effort) {
			error_say("the program is ended, as it would run with interruptions; --best-effort lets it run");
			run->unisolated = true;
			kill(pid, SIGKILL);
		}
	}
	return waits;
}

bool run_start_watch(struct run *run, pid_t pid)
{
	bool waits = take_answers(run, pid, true);

	if (run->threads_watched)
		run_threads_look(run, pid);
	return waits || run->threads_watched;
}

void run_start_end(struct run *run, pid_t pid)
{
	if (!run->isolate)
		return;
	take_answers(run, pid, false);
	for (size_t i = 0; i < run->nr_tasks; i++)
		if (run->tasks[i]->state == ISOLATE_ASKED)
			run->tasks[i]->state = ISOLATE_GONE;
	if (run->refusals > REFUSALS_SAID)
		error_say("%u more threads were refused; what was said of the first %d holds for them, too",
			  run->refusals - REFUSALS_SAID, REFUSALS_SAID);
	run->sampled = !proc_read_below(run->root, true, &run->sample);
}

const struct proc_cpu *run_start_cpu(const struct run *run, int cpu)
{
	const struct proc_cpu *found = run->sampled ? proc_cpu(&run->sample, cpu) : NULL;

	/* Of before: another program's. */
	return found && found->started_ns >= run->began_ns ? found : NULL;
}

void run_start_free(struct run *run)
{
	for (size_t i = 0; i < run->nr_tasks; i++)
		isolate_free(run->tasks[i]);
	free(run->tasks);
	if (run->sampled)
		proc_free(&run->sample);
	if (run->device >= 0)
		close(run->device);
}

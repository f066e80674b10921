// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/wait.h"
#include "interfere/keeper.h"
#include "machine/scratch.h"

#define GRACE_NS (5 * WAIT_SECOND)	/* for programs that clean up on SIGTERM */
#define LOOK_NS 20000000

static const struct timespec look = { 0, LOOK_NS };

/* Whoever reads what the command writes, or waits for its locks, waits for the command only. */
static void leave_files(void)
{
	int null;

	close_range(STDERR_FILENO + 1, ~0U, 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

/* Nothing of whoever opened the load but its CPUs: not its signals, not its priority. */
static void leave_parent(pid_t parent, sigset_t *waited)
{
	static const int awaited[] = { KEEPER_START, KEEPER_STOP, SIGCHLD };
	const struct sched_param none = { 0 };
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int signal = 1; signal < NSIG; signal++)
		sigaction(signal, &plain, NULL);
	sigemptyset(waited);
	for (size_t i = 0; i < ARRAY_SIZE(awaited); i++)
		sigaddset(waited, awaited[i]);
	setsid();
	leave_files();
	sched_setscheduler(0, SCHED_OTHER, &none);
	prctl(PR_SET_NAME, "interfere");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, KEEPER_STOP);
	if (getppid() != parent)
		_exit(0);
}

/* What is short of memory kills these first; may fail, as it is but a wish. */
static void be_first_to_go(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	file_write_fd(fd, "1000", 4);
	close(fd);
}

/* In a child: it ends with @keeper. */
static void follow(pid_t keeper)
{
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (getppid() != keeper)
		_exit(1);
	be_first_to_go();
}

static pid_t begin(struct work *work, size_t index)
{
	pid_t keeper = getpid(), child = fork();

	/* A group of its own, whoever comes first: what it starts is ended with it. */
	if (child)
		setpgid(child, child);
	if (child)
		return child;
	follow(keeper);
	work->slot = &work->shared->slots[index];
	work_pin(work, work->slot->cpu);
	work->type->run(work);
}

/* SIGKILL to each child by now, adopted ones as well. */
static void kill_children(void)
{
	size_t size;
	char *list, *at, *end;

	list = file_read("/proc/thread-self/children", &size);
	for (at = list; at; at = end) {
		pid_t child = (pid_t)strtol(at, &end, 10);

		if (end == at)
			break;
		kill(child, SIGKILL);
	}
	free(list);
}

/* One of @workers, which is no end that it has by itself, was among those that ended. */
enum reaped { REAPED_OTHERS, REAPED_WORKER, REAPED_ALL };

/*
 * The number of a worker is its own, and its group's, until it is reaped; then it is forgotten,
 * as it may be any process's.  What the worker has started gets SIGTERM before that.
 */
static enum reaped reap(pid_t *workers, size_t count)
{
	enum reaped what = REAPED_OTHERS;
	siginfo_t ended = { 0 };
	int none;

	while (!(none = waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT)) && ended.si_pid) {
		for (size_t i = 0; i < count; i++) {
			if (ended.si_pid != workers[i])
				continue;
			kill(-workers[i], SIGTERM);
			workers[i] = 0;
			what = REAPED_WORKER;
		}
		waitpid(ended.si_pid, NULL, 0);
		ended.si_pid = 0;
	}
	return none && errno == ECHILD ? REAPED_ALL : what;
}

/* To those that are there, and what they have started. */
static void tell(const pid_t *workers, size_t count, int signal)
{
	for (size_t i = 0; i < count; i++)
		if (workers[i])
			kill(-workers[i], signal);
}

/* All of them, and all that they have left: none is there any more when it returns. */
static void end_all(pid_t *workers, size_t count)
{
	uint64_t limit = wait_clock_ns() + GRACE_NS;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	tell(workers, count, SIGTERM);
	while (reap(workers, count) != REAPED_ALL) {
		if (wait_clock_ns() >= limit) {
			tell(workers, count, SIGKILL);
			kill_children();
		}
		sigtimedwait(&child, NULL, &look);
	}
}

/* Nothing of the load is there any more; said why, if it was not told to end. */
static void finish(struct work *work, const char *why) __attribute__((noreturn));

static void finish(struct work *work, const char *why)
{
	if (work->scratch)
		scratch_remove(work->scratch);
	if (why)
		work_fail(work, "%s", why);
	_exit(0);
}

void keeper_run(struct work *work, pid_t parent)
{
	size_t wanted = work->type->whole ? 1 : work->shared->count, count = 0;
	pid_t *workers = calloc(wanted, sizeof(*workers));
	sigset_t waited;
	int signal;
	char *why;

	leave_parent(parent, &waited);
	do
		signal = sigwaitinfo(&waited, NULL);
	while (signal != KEEPER_START && signal != KEEPER_STOP);
	if (signal == KEEPER_STOP)
		_exit(0);
	why = work->type->files ? scratch_make(&work->scratch) : NULL;
	if (why)
		work_fail(work, "%s", why);
	while (workers && count < wanted && (workers[count] = begin(work, count)) > 0)
		count++;
	/* None of them ends by itself. */
	while (count == wanted && (signal = sigwaitinfo(&waited, NULL)) != KEEPER_STOP)
		if (signal == SIGCHLD && reap(workers, count) != REAPED_OTHERS)
			break;
	end_all(workers, count);
	finish(work, signal == KEEPER_STOP ? NULL :
	       "one of its processes was killed, or could not begin");
}

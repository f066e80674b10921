// SPDX-License-Identifier: GPL-2.0-or-later
/* The process that becomes the program, and the signals that are passed on to it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"
#include "base/wait.h"
#include "machine/affinity.h"
#include "run/run.h"

#define WATCH_NS 100000000	/* between two looks at the program's threads */
#define EXIT_SIGNALLED 128

/* What the child does before it is the program, in this order. */
enum stage {
	STAGE_PIN, STAGE_POLICY, STAGE_LOCK, STAGE_PRELOAD, STAGE_TERMINAL, STAGE_USER, STAGE_EXEC
};

struct said {
	int stage;
	int error;
};

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

static sigset_t outside;	/* the mask that the program gets */
static sigset_t awaited;	/* what is waited for */

/* False: the program shall not run. */
static bool say(int fd, const struct run *run, enum stage stage, int error)
{
	struct said said = { stage, error };

	if (!error)
		return true;
	file_write_fd(fd, &said, sizeof(said));
	/* Locked memory is for who wants it. */
	return stage == STAGE_LOCK || (run->best_effort && stage < STAGE_LOCK);
}

static int pin(const struct run *run)
{
	return affinity_set(0, run->rest.given ? &run->rest : &run->cpus);
}

static int schedule(const struct run *run)
{
	static const int policies[] = {
		[RUN_OTHER] = SCHED_OTHER, [RUN_FIFO] = SCHED_FIFO, [RUN_RR] = SCHED_RR,
	};
	const struct sched_param parameter = { .sched_priority = (int)run->priority };

	return sched_setscheduler(0, policies[run->policy], &parameter) ? errno : 0;
}

/* The program may lock its memory, and give its threads what it has itself. */
static int lift_limits(const struct run *run)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	const struct rlimit priority = { run->priority, run->priority };
	struct rlimit most;

	if (run->policy != RUN_OTHER)
		setrlimit(RLIMIT_RTPRIO, &priority);
	if (!setrlimit(RLIMIT_MEMLOCK, &all))
		return 0;
	if (getrlimit(RLIMIT_MEMLOCK, &most))
		return errno;
	most.rlim_cur = most.rlim_max;
	if (setrlimit(RLIMIT_MEMLOCK, &most))
		return errno;
	/* Root's programs have no limit where they may lock memory at all. */
	return most.rlim_max == RLIM_INFINITY || run->no_settings ||
		(!run->user.given && !geteuid() && user_may(CAP_IPC_LOCK)) ? 0 : EPERM;
}

/* No memory goes back to the kernel: that flushes TLBs, and comes again by faults. */
static int keep_memory(void)
{
	return setenv("MALLOC_TRIM_THRESHOLD_", "-1", 0) ||
		setenv("MALLOC_MMAP_MAX_", "0", 0) ? errno : 0;
}

static int become(const struct run *run, pid_t parent)
{
	int error = user_become(&run->user);

	/* After that, which undoes it: the program shall not outlive who looks after it. */
	if (!error && prctl(PR_SET_PDEATHSIG, SIGKILL))
		error = errno;
	if (!error && getppid() != parent)
		_exit(EXIT_OWN);
	return error;
}

static void live(const struct run *run, int go, int said, pid_t parent)
{
	char byte;

	/* Whoever made this is gone, or does not want it any more. */
	if (read(go, &byte, 1) != 1)
		_exit(EXIT_OWN);
	/* Below another root the CPUs are another machine's. */
	if (root_live(run->root) && (!say(said, run, STAGE_PIN, pin(run)) ||
				     !say(said, run, STAGE_POLICY, schedule(run))))
		_exit(EXIT_OWN);
	if (!say(said, run, STAGE_LOCK, lift_limits(run)) ||
	    (run->preload_counts && !say(said, run, STAGE_PRELOAD, run_preload_enter(run))) ||
	    (!run->keep_malloc && !say(said, run, STAGE_USER, keep_memory())) ||
	    !say(said, run, STAGE_TERMINAL, run_terminal_enter(&run->terminal)) ||
	    !say(said, run, STAGE_USER, become(run, parent)))
		_exit(EXIT_OWN);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &outside, NULL);
	execvp(run->argv[0], run->argv);
	say(said, run, STAGE_EXEC, errno);
	_exit(EXIT_OWN);
}

static void block_signals(const struct run *run)
{
	struct sigaction old;

	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++) {
		/* What the caller wants ignored, as nohup(1) does, stays so. */
		if (!sigaction(forwarded[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaddset(&awaited, forwarded[i]);
	}
	/* Ctrl-Z, where it is no key for the program's own terminal. */
	if (run->terminal.no_keys)
		sigaddset(&awaited, SIGTSTP);
	sigprocmask(SIG_BLOCK, &awaited, &outside);
	/* A report that nobody reads must not keep settings from being restored. */
	signal(SIGPIPE, SIG_IGN);
}

int run_child_make(struct run_child *child, const struct run *run)
{
	pid_t parent = getpid();
	int go[2], said[2];

	block_signals(run);
	if (pipe2(go, O_CLOEXEC) || pipe2(said, O_CLOEXEC) || (child->pid = fork()) < 0) {
		error_say("cannot make a process: %s: end some, or raise the limits (ulimit -u, ulimit -n)",
			  strerror(errno));
		return -1;
	}
	if (!child->pid) {
		close(go[1]);
		close(said[0]);
		live(run, go[0], said[1], parent);
	}
	close(go[0]);
	close(said[1]);
	child->go = go[1];
	child->said = said[0];
	return 0;
}

int run_child_asked(void)
{
	const struct timespec now = { 0 };
	sigset_t ends = awaited;
	int signal;

	sigdelset(&ends, SIGCHLD);
	sigdelset(&ends, SIGTSTP);
	signal = sigtimedwait(&ends, NULL, &now);
	return signal > 0 ? signal : 0;
}

void run_child_drop(struct run_child *child)
{
	close(child->go);
	close(child->said);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int tell(const struct said *said, const struct run *run)
{
	const char *why = strerror(said->error);
	const char *who = run->user.name ? run->user.name : "its user";
	struct rlimit most;
	char *cpus;

	switch ((enum stage)said->stage) {
	case STAGE_PIN:
		cpus = cpulist_text(run->rest.given ? &run->rest : &run->cpus);
		error_say("cannot pin the program to CPU %s: %s: is it online, and in the cpuset of this shell (cat /proc/self/status)?",
			  cpus, why);
		free(cpus);
		break;
	case STAGE_POLICY:
		error_say("cannot give the program its policy and priority: %s: %s", why,
			  error_denied());
		break;
	case STAGE_LOCK:
		if (getrlimit(RLIMIT_MEMLOCK, &most))
			most.rlim_max = 0;
		error_say("the program may lock %llu kB of memory and no more: give isolator CAP_SYS_RESOURCE, or raise the limit first (ulimit -l unlimited)",
			  (unsigned long long)most.rlim_max / 1024);
		return 0;
	case STAGE_PRELOAD:
		error_say("cannot give the preload library its device: %s", why);
		break;
	case STAGE_TERMINAL:
		error_say("cannot give the program a terminal of its own: %s", why);
		break;
	case STAGE_USER:
		error_say("cannot run the program as %s: %s", who, why);
		break;
	case STAGE_EXEC:
		return run_cannot_run(run->argv[0], said->error);
	}
	return run->best_effort && said->stage < STAGE_LOCK ? 0 : EXIT_OWN;
}

int run_child_go(struct run_child *child, const struct run *run)
{
	struct said said;
	int code = 0;

	/* If it is gone already, it says nothing, and is waited for as any other. */
	file_write_fd(child->go, "", 1);
	close(child->go);
	for (;;) {
		ssize_t n = read(child->said, &said, sizeof(said));
		int one;

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(said))
			break;
		one = tell(&said, run);
		code = one ? one : code;
	}
	close(child->said);
	if (code)
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
	return code;
}

/* Passes on what a terminal sends to a whole job: the program leads another one. */
static void pass_to_job(pid_t program, int signal)
{
	sigset_t stop;

	if (signal != SIGTSTP) {
		kill(-program, signal);
		return;
	}
	/* It cannot be stopped otherwise: no shell is above it in its session. */
	kill(-program, SIGSTOP);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	kill(-program, SIGCONT);
}

void run_child_wait(const struct run_child *child, struct run *run, struct run_end *end)
{
	const struct timespec nap = { .tv_nsec = WATCH_NS };
	bool watched = run_start_watch(run, child->pid);
	uint64_t began = wait_clock_ns();
	siginfo_t info;
	pid_t ended = 0;

	while (ended != child->pid) {
		int signal = watched ? sigtimedwait(&awaited, &info, &nap) :
			sigwaitinfo(&awaited, &info);

		/* What a terminal sends goes to the program by itself, if it is its own. */
		if (signal > 0 && signal != SIGCHLD) {
			bool typed = info.si_code == SI_KERNEL;

			if (signal == SIGTSTP || (typed && run->terminal.apart))
				pass_to_job(child->pid, signal);
			else if (!typed)
				kill(child->pid, signal);
		}
		ended = wait4(child->pid, &end->status, WNOHANG, &end->usage);
		if (ended < 0 && errno != EINTR)
			break;
		if (!ended && watched)
			watched = run_start_watch(run, child->pid);
	}
	end->ns = wait_clock_ns() - began;
	end->code = WIFSIGNALED(end->status) ? EXIT_SIGNALLED + WTERMSIG(end->status) :
		WEXITSTATUS(end->status);
}

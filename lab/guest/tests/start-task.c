// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: start-task
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: another task is isolated, at once or at its exec; it needs no tick of its own
 */
#include "../test.h"

#define STATUS	"/proc/isolator/status"
#define STATS	"/proc/isolator/stats"

static int device;

/* How to start, where it is not as usual; a deadline of 0 is the usual one. */
#define START(...) ((struct isolator_start_args){			\
	.size = sizeof(struct isolator_start_args),			\
	.mask = ISOLATOR_MASK_ALL, __VA_ARGS__ })

static int task(unsigned long what, pid_t tid, uint32_t flags, struct isolator_start_args how)
{
	struct isolator_task_args args = {
		.size = sizeof(args), .flags = flags, .tid = tid, .start = how,
	};

	if (!how.deadline_ns)
		args.start.deadline_ns = SEC;
	return ioctl(device, what, &args) ? -errno : 0;
}

static int start(pid_t tid, uint32_t flags)
{
	return task(ISOLATOR_IOC_START_TASK, tid, flags, START());
}

static int stop(pid_t tid)
{
	return task(ISOLATOR_IOC_STOP_TASK, tid, 0, START());
}

/*
 * A child that spins, by system calls or without; pinned to CPU 1 it is FIFO: no
 * thread of that CPU runs but when the CPU is yielded.  It is where it shall be when
 * this returns.
 */
static pid_t spinner(bool pinned, bool calls)
{
	const struct sched_param param = { .sched_priority = 10 };
	int there[2];
	cpu_set_t all;
	pid_t pid;
	char byte;

	if (pipe(there) || (pid = fork()) < 0)
		bail_out("fork");
	if (pid) {
		close(there[1]);
		if (read(there[0], &byte, 1) != 1)
			bail_out("a child cannot choose its CPUs");
		close(there[0]);
		return pid;
	}
	memset(&all, 0xff, sizeof(all));
	if (pinned ? iso_pin(1) || sched_setscheduler(0, SCHED_FIFO, &param) :
		     sched_setaffinity(0, sizeof(all), &all))
		_exit(1);
	if (write(there[1], "x", 1) != 1)
		_exit(1);
	for (;;) {
		if (calls)
			syscall(SYS_getpid);
	}
}

/* A child that executes a program on CPU 1 when a byte comes. */
static pid_t executor(int *go)
{
	char path[32], byte;
	int pipe_fds[2];
	pid_t pid;

	if (pipe(pipe_fds) || (pid = fork()) < 0)
		bail_out("fork");
	if (!pid) {
		close(pipe_fds[1]);
		if (iso_pin(1) || read(pipe_fds[0], &byte, 1) != 1)
			_exit(1);
		execl("/bin/busybox", "busybox", "sh", "-c", "while :; do :; done", (char *)NULL);
		_exit(1);
	}
	close(pipe_fds[0]);
	*go = pipe_fds[1];
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	until(file_has(path, "State:\tS", NULL));
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static unsigned long own(const char *what)
{
	char text[4096], *line, *at;

	if (get_file(STATS, text, sizeof(text)))
		return 0;
	line = strstr(text, "cpu 1 own ");
	at = line ? strstr(line, what) : NULL;
	return at ? strtoul(at + strlen(what), NULL, 10) : 0;
}

/* How many more than @before, once there are any: a tick counts as it ends, after its yield. */
static unsigned long more(const char *what, unsigned long before)
{
	comes(own(what) > before, 2000);
	return own(what) - before;
}

/* Until CPU 1 is isolated, and @word stands there too unless it is NULL; at most ms. */
static bool comes_to_be_isolated(const char *word, unsigned int ms)
{
	return comes(file_has(STATUS, "cpu 1 isolated", word, NULL), ms);
}

static void at_once(void)
{
	pid_t pid = spinner(true, false);

	ok(!start(pid, ISOLATOR_TASK_WAIT), "a task that spins is isolated");
	/* Its CPU may stand still on the way back there. */
	ok(comes_to_be_isolated("user 1", 2000), "and in user mode");
	ok(start(pid, ISOLATOR_TASK_WAIT) == 0 && file_has(STATUS, "depth 2", NULL),
	   "a second start nests");
	ok(!stop(pid) && file_has(STATUS, "cpu 1 ended admin", NULL), "a stop ends it altogether");
	ok(stop(pid) == -ESRCH, "a second stop: ESRCH");
	end(pid);
}

static void at_exec(void)
{
	int go;
	pid_t pid = executor(&go);

	ok(!start(pid, ISOLATOR_TASK_EXEC), "a start is armed for the exec");
	ok(start(pid, ISOLATOR_TASK_EXEC) == -EALREADY, "another one: EALREADY");
	ok(!file_has(STATUS, "cpu 1 isolated", NULL), "it waits for the exec");
	if (write(go, "x", 1) != 1)
		bail_out("pipe");
	ok(comes_to_be_isolated(NULL, 5000), "the program runs isolated");
	end(pid);
	close(go);
	pid = executor(&go);
	start(pid, ISOLATOR_TASK_EXEC);
	close(go);
	waitpid(pid, NULL, 0);
	ok(stop(pid) == -ESRCH, "one that exits instead leaves nothing armed");
	pid = executor(&go);
	start(pid, ISOLATOR_TASK_EXEC);
	ok(!stop(pid), "a stop disarms");
	if (write(go, "x", 1) != 1)
		bail_out("pipe");
	sleep_ms(200);	/* sleep: nobody isolates it meanwhile */
	ok(!file_has(STATUS, "cpu 1 isolated", NULL), "and the program runs as any other");
	end(pid);
	close(go);
}

/* A task that is stopped cannot start: asking again and again leaves nothing behind. */
static void one_at_a_time(void)
{
	pid_t pid = spinner(true, false);
	int taken = 0, refused = 0, error;

	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
	for (int i = 0; i < 5000; i++) {
		error = start(pid, i % 2 ? ISOLATOR_TASK_EXEC : 0);
		taken += !error;
		refused += error == -EALREADY;
	}
	ok(taken == 1 && refused == 4999, "of 5000 starts of a stopped task %d waits, %d: EALREADY",
	   taken, refused);
	ok(!stop(pid) && stop(pid) == -ESRCH, "a stop takes it back");
	ok(!start(pid, 0), "then another can be asked for");
	kill(pid, SIGCONT);
	/* It is through when the task is in user mode: the status has it a moment before. */
	ok(comes_to_be_isolated("user 1", 5000) && file_has(STATUS, "depth 1", NULL),
	   "which takes effect as the task goes on");
	ok(!start(pid, ISOLATOR_TASK_WAIT), "and waits no more: the next one nests");
	end(pid);
	pid = spinner(true, false);
	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
	ok(!start(pid, 0), "one that waits");
	end(pid);
	ok(stop(pid) == -ESRCH, "is gone with its task");
}

static int unprivileged(pid_t pid)
{
	return setuid(65534) || start(pid, 0) != -EPERM || stop(pid) != -EPERM;
}

static void errors(void)
{
	pid_t pid = spinner(false, false), child;
	int status;

	ok(start(pid, ISOLATOR_TASK_WAIT) == -ENOTUNIQ, "a task on any CPU: ENOTUNIQ");
	ok(start(getpid(), ISOLATOR_TASK_WAIT) == -EDEADLK, "to wait for oneself: EDEADLK");
	ok(start(2, 0) == -EPERM, "a kernel thread: EPERM");
	ok(start(pid, 1U << 7) == -EINVAL, "a flag that is none: EINVAL");
	ok(task(ISOLATOR_IOC_START_TASK, pid, 0, START(.flags = 1U << 7)) == -EINVAL,
	   "nor of start: EINVAL");
	ok(task(ISOLATOR_IOC_START_TASK, pid, 0,
		(struct isolator_start_args){ .mask = 7 }) == -EINVAL,
	   "a start of another size than the request's: EINVAL");
	ok(task(ISOLATOR_IOC_START_TASK, pid, 0, START(.batch_ns = 1)) == -ERANGE,
	   "a batch period of 1 ns: ERANGE");
	child = fork();
	if (!child)
		_exit(unprivileged(pid));
	waitpid(child, &status, 0);
	ok(!status, "without privilege: EPERM (%#x)", status);
	end(pid);
	ok(start(pid, ISOLATOR_TASK_WAIT) == -ESRCH, "no such task: ESRCH");
}

/* What is due is done at the task's own system calls. */
static void by_calls(void)
{
	pid_t pid = spinner(true, true);
	unsigned long before, ticks = 0;
	bool done = true;

	ok(!task(ISOLATOR_IOC_START_TASK, pid, ISOLATOR_TASK_WAIT,
		 START(.flags = ISOLATOR_START_AUTO_TICK)),
	   "isolated, its kernel entries are ticks");
	before = own("ticks ");
	/* The start yields the CPU before its first return, which may still be under way. */
	for (int i = 0; i < 20 && done && !ticks; i++) {
		done = ask_kworker();
		ticks = more("ticks ", before);
	}
	ok(done, "work for a thread of its CPU is done");
	ok(ticks, "by a tick: %lu", ticks);
	ok(file_has(STATS, "cpu 1 total", " missed 0 ", " planned 0 ", NULL),
	   "nothing interrupted it");
	end(pid);
}

/* It neither calls nor ticks: the batch delivers what is due, and says so. */
static void by_batch(void)
{
	pid_t pid = spinner(true, false);
	uint64_t took;

	ok(!task(ISOLATOR_IOC_START_TASK, pid, ISOLATOR_TASK_WAIT, START(.batch_ns = 50 * MS)),
	   "isolated, with a batch of 50 ms");
	sleep_ms(300);	/* sleep: what its start asks for has come */
	took = own("planned ");
	sleep_ms(300);	/* sleep: nothing comes meanwhile */
	ok(own("planned ") == took, "nothing is due: no interruption is planned");
	took = now_ns();
	ok(ask_kworker(), "work for a thread of its CPU is done");
	took = now_ns() - took;
	ok(own("planned ") > 0, "by %lu planned interruptions, in %lu ms", own("planned "),
	   took / MS);
	if (!ok(file_has(STATS, "cpu 1 total", " missed 0 ", NULL), "none of them a deadline miss"))
		show_deliveries();
	ok(!file_has(STATS, "cpu 1 total", " planned 0 ", NULL), "counted as planned");
	end(pid);
}

/* A batch does not leave to the deadline what the yield of an entry is too short for. */
static void by_batch_whole(void)
{
	pid_t pid = spinner(true, false);
	int done = 0;

	/* The deadline is later by as long as a busy host may hold the CPU that makes the batch. */
	ok(!task(ISOLATOR_IOC_START_TASK, pid, ISOLATOR_TASK_WAIT,
		 START(.yield_ns = 1, .batch_ns = 100 * MS, .spin_ns = SEC)),
	   "isolated, with a batch of 100 ms, a deadline of 1 s and a yield of 1 ns");
	for (int i = 0; i < 5; i++)
		done += ask_kworker();
	ok(done == 5, "work for a thread of its CPU is done %d times of 5", done);
	if (!ok(file_has(STATS, "cpu 1 total", " missed 0 ", NULL), "none by a deadline miss"))
		show_deliveries();
	end(pid);
}

int main(void)
{
	iso_require(2);
	device = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	if (device < 0)
		bail_out("/dev/isolator");
	at_once();
	at_exec();
	one_at_a_time();
	errors();
	if (!can_ask_kworker())
		diag("no work for a kernel thread: without tracing");
	else {
		by_calls();
		by_batch();
		by_batch_whole();
	}
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: armed
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: a start that waits for its task obeys what limits and rights are when it begins
 */
#include <linux/capability.h>
#include <sys/prctl.h>
#include "../test.h"

#define STATUS	"/proc/isolator/status"
#define LIMITS	"/proc/isolator/limits"
#define SUID	"/suid"

enum { NOBODY = 65534 };

static int device;

static struct isolator_task_args asked(pid_t tid, uint32_t flags, uint64_t deadline_ns)
{
	return (struct isolator_task_args){
		.size = sizeof(struct isolator_task_args), .flags = flags, .tid = tid,
		.start = { .size = sizeof(struct isolator_start_args),
			   .mask = ISOLATOR_MASK_ALL, .deadline_ns = deadline_ns },
	};
}

static int stop(pid_t tid)
{
	struct isolator_task_args args = { .size = sizeof(args), .tid = tid };

	return ioctl(device, ISOLATOR_IOC_STOP_TASK, &args) ? -errno : 0;
}

/* No rights but these, as this user; others of the same user may trace it. */
static void become_nobody(uint32_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { capabilities, capabilities, 0 } };

	if (prctl(PR_SET_KEEPCAPS, 1) || setuid(NOBODY) || syscall(SYS_capset, &header, data) ||
	    prctl(PR_SET_DUMPABLE, 1))
		_exit(100);
}

struct child {
	pid_t pid;
	int go;		/* a byte: execute */
};

/* A child on CPU 1, running as nobody, that executes a program when told to. */
static struct child executor(const char *program)
{
	struct child child;
	char path[32], byte;
	int pipe_fds[2];

	if (pipe(pipe_fds) || (child.pid = fork()) < 0)
		bail_out("fork");
	if (!child.pid) {
		close(pipe_fds[1]);
		if (iso_pin(1))
			_exit(100);
		become_nobody(0);
		if (read(pipe_fds[0], &byte, 1) != 1)
			_exit(100);
		execl(program, "sh", "-c", "while :; do :; done", (char *)NULL);
		_exit(100);
	}
	close(pipe_fds[0]);
	child.go = pipe_fds[1];
	snprintf(path, sizeof(path), "/proc/%d/status", child.pid);
	until(file_has(path, "State:\tS", NULL) && file_has(path, "Uid:\t65534", NULL));
	return child;
}

static void end(struct child child)
{
	close(child.go);
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
}

/* Or was refused at once.  A wait for a lock cannot be interrupted: D. */
static bool waits_in_isolator(pid_t pid)
{
	char wchan[32], status[32];

	snprintf(wchan, sizeof(wchan), "/proc/%d/wchan", pid);
	snprintf(status, sizeof(status), "/proc/%d/status", pid);
	return (file_has(wchan, "isolator", NULL) && file_has(status, "State:\tS", NULL)) ||
	       file_has(status, "State:\tZ", NULL);
}

/*
 * What becomes of a start that one with these rights asks for a child's exec, and waits for;
 * limits change before the exec, unless @limit is NULL.
 */
static int at_exec(const char *program, uint32_t capabilities, uint64_t deadline_ns,
		   const char *limit, uint64_t *got)
{
	struct child child = executor(program);
	struct shared { _Atomic uint64_t got; } *shared = shared_memory(sizeof(*shared));
	pid_t asks = fork();
	int status;

	if (!asks) {
		struct isolator_task_args args =
			asked(child.pid, ISOLATOR_TASK_EXEC | ISOLATOR_TASK_WAIT, deadline_ns);
		int error;

		close(child.go);
		become_nobody(capabilities);
		error = ioctl(device, ISOLATOR_IOC_START_TASK, &args) ? errno : 0;
		shared->got = args.start.deadline_ns;
		_exit(error);
	}
	/* It waits for the start, no longer for a lock before. */
	until(waits_in_isolator(asks));
	if (limit)
		put_file(LIMITS, limit);
	if (write(child.go, "x", 1) != 1)
		bail_out("pipe");
	waitpid(asks, &status, 0);
	end(child);
	if (got)
		*got = shared->got;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define NICE	(1u << CAP_SYS_NICE)
#define TRACES	(1u << CAP_SYS_PTRACE)

static void lowered(void)
{
	uint64_t got;
	int error;

	put_file(LIMITS, "deadline_ns 1000000000");
	error = at_exec("/bin/busybox", NICE, 900 * MS, NULL, NULL);
	ok(!error, "a start at an exec, within the limits: %s", strerror(error));
	error = at_exec("/bin/busybox", NICE, 900 * MS, "deadline_ns 500000000", NULL);
	ok(error == ERANGE, "limits that were lowered before the exec: %s", strerror(error));
	put_file(LIMITS, "deadline_ns 1000000000");
	error = at_exec("/bin/busybox", NICE, 0, "deadline_ns 500000000", &got);
	ok(!error && got == 500 * MS, "the default is that of the start: %s, %lu ns",
	   strerror(error), (unsigned long)got);
	iso_raise_limits();
}

/* The same program, but with the rights of root. */
static bool make_suid(void)
{
	char buffer[65536];
	int from = open("/bin/busybox", O_RDONLY);
	int to = open(SUID, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t size = -1;

	while (from >= 0 && to >= 0 && (size = read(from, buffer, sizeof(buffer))) > 0) {
		if (write(to, buffer, (size_t)size) != size)
			break;
	}
	close(from);
	return !close(to) && !size && !chmod(SUID, 04755);
}

static void more_rights(void)
{
	int error;

	if (!make_suid())
		bail_out("no copy of busybox");
	error = at_exec(SUID, NICE, SEC, NULL, NULL);
	ok(error == EPERM, "a program that gets the rights of root at its exec: %s",
	   strerror(error));
	error = at_exec(SUID, NICE | TRACES, SEC, NULL, NULL);
	ok(!error, "for who may trace it then, too: %s", strerror(error));
	unlink(SUID);
}

/* Who cannot be told what it would get gets nothing. */
static void cannot_be_told(void)
{
	struct isolator_task_args *args = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct child child = executor("/bin/busybox");
	struct worker *w = worker_new(1);

	if (args == MAP_FAILED)
		bail_out("mmap");
	*args = asked(child.pid, ISOLATOR_TASK_EXEC, SEC);
	mprotect(args, 4096, PROT_READ);
	ok(!ioctl(device, ISOLATOR_IOC_START_TASK, args),
	   "a start that is not waited for writes no answer: %s", strerror(errno));
	ok(!stop(child.pid), "the start was armed");
	end(child);

	w->plain = true;
	need_worker(worker_process(w));
	mprotect(args, 4096, PROT_READ | PROT_WRITE);
	*args = asked(w->tid, ISOLATOR_TASK_WAIT, SEC);
	mprotect(args, 4096, PROT_READ);
	ok(ioctl(device, ISOLATOR_IOC_START_TASK, args) && errno == EFAULT,
	   "one that is waited for, and cannot write its answer: %s", strerror(errno));
	ok(!file_has(STATUS, "cpu 1 isolated", NULL) && stop(w->tid) == -ESRCH, "starts nothing");
	worker_end(w);
	munmap(args, 4096);
}

int main(void)
{
	iso_require(2);
	device = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	if (device < 0)
		bail_out("/dev/isolator");
	lowered();
	more_rights();
	cannot_be_told();
	return done_testing();
}

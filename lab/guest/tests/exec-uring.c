// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: exec-uring
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: a start that is asked for amid an exec ends with the old program
 *
 * The exec cancels what io_uring has in flight, and runs task work while it waits for
 * that: so a start that was asked for a moment before begins there, in the memory that
 * the exec is about to leave.
 */
#include <poll.h>
#include <linux/userfaultfd.h>
#include "uring.h"

#define STATUS	"/proc/isolator/status"

static size_t page;

/* One request that never ends by itself; false where io_uring is not to be had. */
static bool in_flight(void)
{
	struct io_uring_params params = { 0 };
	int fds[2], fd = (int)syscall(SYS_io_uring_setup, 1, &params);

	return fd >= 0 && !pipe(fds) &&
	       uring_submit(fd, &params, (struct io_uring_sqe){
			.opcode = IORING_OP_POLL_ADD, .fd = fds[0], .poll32_events = POLLIN });
}

/* A page that is filled by whoever reads the descriptor that this returns, or negative. */
static int on_demand(char *where)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = {
		.range = { .start = (uintptr_t)where, .len = page },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &area))
		return fd;
	return -1;
}

static struct shared {
	_Atomic bool old;	/* the start was asked for while the old program had not gone */
	_Atomic int error;
} *shared;

struct asker {
	pid_t tid;
	int uffd;
};

/* Once the exec reads its argument: asks for the start, then lets the exec go on. */
static void *asks(void *data)
{
	struct asker *asker = data;
	struct isolator_task_args args = {
		.size = sizeof(args), .tid = asker->tid,
		.start = { .size = sizeof(args.start), .mask = ISOLATOR_MASK_ALL },
	};
	char *bytes = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int device = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	struct uffd_msg message;
	struct uffdio_copy copy;

	if (bytes == MAP_FAILED || read(asker->uffd, &message, sizeof(message)) != sizeof(message))
		_exit(1);
	strcpy(bytes, "while :; do :; done");
	shared->error = ioctl(device, ISOLATOR_IOC_START_TASK, &args) ? -errno : 0;
	shared->old = true;
	copy = (struct uffdio_copy){ .src = (uintptr_t)bytes, .len = page,
				     .dst = message.arg.pagefault.address & ~(page - 1) };
	if (ioctl(asker->uffd, UFFDIO_COPY, &copy))
		_exit(1);
	for (;;)
		pause();
}

static void program(void)
{
	char *line = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct asker asker = { .tid = (pid_t)syscall(SYS_gettid) };
	pthread_t thread;

	if (iso_pin(1) || line == MAP_FAILED)
		_exit(1);
	if (!in_flight() || (asker.uffd = on_demand(line)) < 0)
		_exit(2);
	if (pthread_create(&thread, NULL, asks, &asker))
		_exit(1);
	execl("/bin/busybox", "busybox", "sh", "-c", line, (char *)NULL);
	_exit(1);
}

/* Is it the shell by now?  The name is set after the old program has gone. */
static bool executed(pid_t pid)
{
	char path[64], name[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	for (int i = 0; i < 20000; i++) {
		if (get_file(path, name, sizeof(name)))
			return false;
		if (!strncmp(name, "busybox", 7))
			return true;
		sleep_ms(1);	/* sleep: between two looks */
	}
	return false;
}

int main(void)
{
	int status = 0;
	pid_t pid;
	bool runs;

	iso_require(2);
	page = (size_t)sysconf(_SC_PAGESIZE);
	shared = shared_memory(page);
	pid = fork();
	if (!pid)
		program();
	runs = executed(pid);
	if (!runs && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	    WEXITSTATUS(status) == 2)
		bail_out("no io_uring, or no userfaultfd");
	ok(runs, "a program with a request of io_uring's in flight executes another");
	ok(shared->old && !shared->error, "amid that a start was asked for: %s",
	   strerror(-shared->error));
	ok(file_has(STATUS, "isolated \n", NULL), "none of it is isolated after the exec");
	ok(file_has(STATUS, "cpu 1 ended exec", NULL), "as the exec has ended it");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ok(file_has(STATUS, "isolated \n", NULL), "nothing stays of it");
	return done_testing();
}

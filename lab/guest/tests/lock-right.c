// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: lock-right
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: no more memory is locked, or kept from others, than the task may lock
 */
#include <linux/capability.h>
#include <sys/uio.h>
#include "../test.h"

#define CPUS	"/proc/isolator/cpus"
#define LITTLE	(64 * 1024)
#define PLENTY	(1024ul * 1024 * 1024)

static unsigned long locked_kb(void)
{
	char text[4096], *at;

	if (get_file("/proc/self/status", text, sizeof(text)))
		return ~0ul;
	at = strstr(text, "VmLck:");
	return at ? strtoul(at + 6, NULL, 10) : ~0ul;
}

/* The current process may lock so much, whoever it is. */
static bool may_lock(rlim_t bytes)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct rlimit limit = { bytes, bytes };
	struct __user_cap_data_struct data[2];

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || syscall(SYS_capget, &header, data))
		return false;
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	data[0].permitted &= ~(1u << CAP_IPC_LOCK);
	return !syscall(SYS_capset, &header, data);
}

/* A start that is refused leaves nothing locked. */
static void refused(void)
{
	struct iso iso = { .fd = -1 };
	unsigned long before = locked_kb();
	int error;

	if (put_file(CPUS, "\n") || iso_pin(1))
		bail_out("CPU 1 cannot be taken from those that may be isolated");
	error = iso_start_as(&iso, (struct isolator_start_args){
		.mask = ISOLATOR_MASK_ALL, .flags = ISOLATOR_START_LOCK,
	});
	iso_close(&iso);
	ok(error == -EACCES, "a start that locks memory, on a CPU that may not be isolated: %s",
	   strerror(-error));
	ok(locked_kb() == before, "nothing is locked after it: %lu KiB, %lu before", locked_kb(),
	   before);
	if (put_file(CPUS, "1") || iso_pin(0))
		bail_out("CPU 1 cannot be given back");
}

/* A process on CPU 1 that may lock so much, and spins there. */
static pid_t process(rlim_t bytes)
{
	int there[2];
	char byte;
	pid_t pid;

	if (pipe(there) || (pid = fork()) < 0)
		bail_out("fork");
	if (!pid) {
		if (iso_pin(1) || !may_lock(bytes) || write(there[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			;
	}
	close(there[1]);
	if (read(there[0], &byte, 1) != 1)
		bail_out("a process cannot give up CAP_IPC_LOCK");
	close(there[0]);
	return pid;
}

/* Started by root, with its memory locked. */
static int lock_other(rlim_t bytes)
{
	struct isolator_task_args args = {
		.size = sizeof(args), .flags = ISOLATOR_TASK_WAIT,
		.start = { .size = sizeof(args.start), .mask = ISOLATOR_MASK_ALL,
			   .flags = ISOLATOR_START_LOCK },
	};
	int device = open("/dev/isolator", O_RDWR | O_CLOEXEC), error;

	args.tid = process(bytes);
	error = ioctl(device, ISOLATOR_IOC_START_TASK, &args) ? -errno : 0;
	kill(args.tid, SIGKILL);
	waitpid(args.tid, NULL, 0);
	close(device);
	return error;
}

/* Another process's advice for its memory, while it is isolated; 0 or -errno. */
static int advise(pid_t pid, void *page)
{
	struct iovec iov = { page, 4096 };
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int error = syscall(SYS_process_madvise, fd, &iov, 1, MADV_COLD, 0) < 0 ? -errno : 0;

	close(fd);
	return error;
}

struct kept {
	_Atomic int state;	/* 1: isolated, 2: over */
	int error;
	uint32_t got;
};

/* One that starts by itself, without CAP_IPC_LOCK. */
static void keeps(rlim_t bytes, bool kept)
{
	struct kept *k = shared_memory(4096);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int advised = 1;
	pid_t pid = fork();

	if (!pid) {
		struct iso iso = { .fd = -1 };

		page[0] = 1;
		k->error = !may_lock(bytes) ? -EPERM : iso_pin(1) ?: iso_start(&iso, 0, 0);
		k->got = iso.start.got;
		k->state = 1;
		while (!k->error && k->state == 1)
			;
		_exit(0);
	}
	comes(k->state, 10000);
	if (k->state == 1 && !k->error)
		advised = advise(pid, page);
	k->state = 2;
	waitpid(pid, NULL, 0);
	ok(!k->error, "it may lock %lu KiB: a start succeeds, %s", bytes / 1024,
	   strerror(-k->error));
	ok(!!(k->got & ISOLATOR_GOT_MM) == kept, "others are %skept off its memory",
	   kept ? "" : "not ");
	ok(advised == (kept ? -EBUSY : 0), "another's advice for its memory: %s",
	   strerror(-advised));
	munmap(page, 4096);
	munmap(k, 4096);
}

int main(void)
{
	int error;

	iso_require(2);
	refused();
	error = lock_other(LITTLE);
	ok(error == -EDQUOT, "root has a process locked that may lock 64 KiB: %s",
	   strerror(-error));
	error = lock_other(PLENTY);
	ok(!error, "and one that may lock 1 GiB: %s", strerror(-error));
	keeps(PLENTY, true);
	keeps(LITTLE, false);
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/root.h"
#include "proc/device.h"

bool device_there(const char *root)
{
	int fd = root_open(root, DEVICE_PATH, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int device_open(const char *root)
{
	return root_open(root, DEVICE_PATH, O_RDWR);
}

int device_start(int fd, struct isolator_task_args *args)
{
	return ioctl(fd, ISOLATOR_IOC_START_TASK, args) ? errno : 0;
}

int device_stop(int fd, pid_t tid)
{
	struct isolator_task_args args = { .size = sizeof(args), .tid = tid };

	return ioctl(fd, ISOLATOR_IOC_STOP_TASK, &args) ? errno : 0;
}

const char *device_fix(int error)
{
	static const struct {
		int error;
		const char *text;
	} texts[] = {
		{ EPERM, "it needs CAP_SYS_NICE and CAP_IPC_LOCK in the initial user namespace, the right to trace the task (CAP_SYS_PTRACE, if its program has more rights than its user), and CAP_SYS_ADMIN for --deadline never; a thread of the kernel cannot be isolated: run it as root" },
		{ ENOTUNIQ, "the task may run on more than one CPU: its cpuset or something else has changed its affinity; pin it to one: taskset -pc CPU TID" },
		{ EACCES, "the CPU is not one of those that may be isolated: as root, echo LIST > /proc/isolator/cpus, where LIST has those that are there already" },
		{ EBUSY, "it is the last CPU for everything else that keeps the time, and one must stay (those of nohz_full= do not count), or the machine brings CPUs up or down, or suspends: choose another CPU, or try again" },
		{ EALREADY, "another task isolates this CPU (see /proc/isolator/status), or a start waits for the task already: choose another CPU, or isolator detach that task" },
		{ EDQUOT, "the task has more memory than it may lock: raise that first (prlimit --pid TID --memlock=unlimited), or leave --lock out" },
		{ ERANGE, "--deadline, --spin, --yield or --batch is out of range: 1 ms at least, at most the limits in /proc/isolator/limits (1 s and, for a spin, 100 ms, unless isolator.conf(5) says otherwise), 1 s for --yield, 1 h for --batch" },
		{ ESRCH, "there is no such task, or it has ended" },
		{ EINVAL, "the kernel does not know what is asked, or the task is isolated already with other times: isolator detach it first, or install the isolator command that belongs to the kernel" },
		{ E2BIG, "the kernel is older than this isolator command, and does not know what is asked: install the command that belongs to the kernel" },
		{ EAGAIN, "the CPU has no high-resolution timer: see /proc/timer_list, and the clock source" },
		{ EOPNOTSUPP, "the kernel lacks what isolation needs: dmesg | grep isolator names it" },
		{ EINTR, "the task did not return to user mode in time, or it is ending; the start was taken back: try again" },
		{ ECANCELED, "somebody took the start back (isolator detach), or the task was just executing another program: ask again" },
		{ ENOMEM, "the kernel has no memory for it: free some, and try again" },
		{ ENOTTY, "the kernel cannot isolate another task, or " DEVICE_PATH " is not its device: install the isolator command that belongs to the kernel" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].error == error)
			return texts[i].text;
	return strerror(error);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* Error texts: what is wrong, and what makes it right. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

struct text {
	enum isolator_step step;
	int error;
	const char *text;
};

static const struct text texts[] = {
	{ STEP_OPTIONS, EINVAL,
	  "options: size or flags are wrong; begin with ISOLATOR_OPTIONS_INIT and use only ISOLATOR_OPT_* flags" },
	{ STEP_OPTIONS, E2BIG,
	  "options: the program asks for something newer than this libisolator; install the one that it was built with" },
	{ STEP_OPTIONS, ENOMEM,
	  "options: stack_bytes is more than this thread's stack has left; ask for less, or make the stack bigger (pthread_attr_setstacksize, ulimit -s)" },
	{ STEP_LOCK, EPERM,
	  "mlockall: locking memory is not allowed; raise RLIMIT_MEMLOCK (ulimit -l unlimited) or give CAP_IPC_LOCK, or use ISOLATOR_OPT_NO_MLOCK" },
	{ STEP_LOCK, ENOMEM,
	  "mlockall: the process's memory is more than RLIMIT_MEMLOCK; raise it (ulimit -l unlimited) or give CAP_IPC_LOCK, or use ISOLATOR_OPT_NO_MLOCK" },
	{ STEP_OPEN, ENOENT,
	  "the device /dev/isolator does not exist; boot a kernel with CONFIG_ISOLATOR=y, or make the node in this container" },
	{ STEP_OPEN, ENXIO,
	  "the kernel has no driver behind the device; boot a kernel with CONFIG_ISOLATOR=y" },
	{ STEP_OPEN, ENODEV,
	  "the kernel has no driver behind the device; boot a kernel with CONFIG_ISOLATOR=y" },
	{ STEP_OPEN, EACCES,
	  "no permission to open the device; give the user access to /dev/isolator (a group in a udev rule)" },
	{ STEP_OPEN, EPERM,
	  "opening the device is not allowed here; a container needs it in its list of devices" },
	{ STEP_OPEN, EMFILE,
	  "the process has no descriptor left; raise RLIMIT_NOFILE (ulimit -n)" },
	{ STEP_START, EPERM,
	  "starting needs CAP_SYS_NICE in the initial user namespace (a user namespace's own is not enough), and strict mode CAP_SYS_ADMIN; setcap cap_sys_nice,cap_ipc_lock+ep PROGRAM" },
	{ STEP_START, EINVAL,
	  "the kernel does not know a bit of the mask, or the mask is empty: use ISOLATOR_MASK_*; or a nested start asks for other times than those in force: leave them 0" },
	{ STEP_START, ERANGE,
	  "deadline_ns, spin_ns or yield_ns is out of range: 1 ms at least, and at most the caps in /proc/isolator/limits, which the administrator may raise" },
	{ STEP_START, ENOTUNIQ,
	  "the thread may run on more than one CPU; pin it to exactly one first: sched_setaffinity(2) or taskset -c N" },
	{ STEP_START, EACCES,
	  "the administrator has not allowed this CPU to be isolated; as root: echo LIST > /proc/isolator/cpus, where LIST has those that are there already" },
	{ STEP_START, EBUSY,
	  "this is the last housekeeping CPU, not counting those of nohz_full=, and one must stay; isolate another CPU, stop another isolation, or bring a CPU online; or the machine brings CPUs up or down, or suspends, or an isolation is just ending: call again" },
	{ STEP_START, EALREADY,
	  "another thread isolates this CPU; /proc/isolator/status shows its isolation; pin this one elsewhere or stop that one" },
	{ STEP_START, EAGAIN,
	  "this CPU has not reached high-resolution timer mode yet (early boot, or no suitable clock source); try again later, and see /proc/timer_list" },
	{ STEP_START, EOPNOTSUPP,
	  "the running kernel lacks a facility that isolation needs; its log names it (dmesg | grep isolator)" },
	{ STEP_START, ENOTTY,
	  "the device opened is not Isolator's; check the path given in isolator_options.device" },
	{ STEP_START, EPROTO,
	  "the running kernel's Isolator is older or newer than this libisolator, and does not know its start; install the libisolator that belongs to the running kernel, or boot the kernel that belongs to this one" },
	{ STEP_START, E2BIG,
	  "the running kernel's Isolator is older than this libisolator, and does not know something that was asked for; leave that out, or boot the kernel that belongs to this libisolator" },
	{ STEP_START, EINTR,
	  "a signal arrived before isolation began; call again" },
	{ STEP_START, ENOMEM,
	  "the kernel has no memory for the start; free some, and call again" },
	{ STEP_MAP, EPROTO,
	  "the device does not show a page of Isolator's; check the path given in isolator_options.device" },
	{ STEP_PAGE_OLDER, EPROTO,
	  "the running kernel's Isolator is older than this libisolator: its shared page has an earlier version; boot the kernel that belongs to this libisolator, or install an older one" },
	{ STEP_PAGE_NEWER, EPROTO,
	  "the running kernel's Isolator is newer than this libisolator: its shared page has a later version; install the libisolator that belongs to the running kernel" },
	{ STEP_MAP, EAGAIN,
	  "the shared page could not be locked: RLIMIT_MEMLOCK is used up; raise it (ulimit -l unlimited)" },
	{ STEP_MAP, ENOMEM,
	  "the shared page could not be mapped: no memory or too many mappings (sysctl vm.max_map_count)" },
	{ STEP_TICK, ESRCH,
	  "this thread is not isolated; call isolator_start() in the thread that ticks" },
	{ STEP_TICK, ECANCELED,
	  "isolation has ended; isolator_page()->end says why (isolator_strend()), and isolator_start() begins a new one" },
	{ STEP_TICK, EINVAL,
	  "the kernel does not know a tick flag; use TICK_SCHED, TICK_YIELD, TICK_TSC_SYNC" },
	{ STEP_TICK, ERANGE,
	  "yield_ns is over its bound of 1 s" },
	{ STEP_TICK, EINTR,
	  "a signal ended the tick early; what remains stays due: tick again" },
	{ STEP_STOP, ESRCH,
	  "this thread is not isolated: there is nothing to stop; call isolator_stop() in the thread that started, once per start" },
	{ STEP_STOP, ECANCELED,
	  "isolation had ended before; isolator_page()->end says why (isolator_strend())" },
	{ STEP_TASK_OPTIONS, EINVAL,
	  "task options: size is wrong; begin with ISOLATOR_TASK_OPTIONS_INIT" },
	{ STEP_TASK_OPTIONS, E2BIG,
	  "task options: the program asks for something newer than this libisolator; install the one that it was built with" },
	{ STEP_START_TASK, EPERM,
	  "isolating another thread needs CAP_SYS_NICE in the initial user namespace and the right to trace it (the same user, or CAP_SYS_PTRACE), ISOLATOR_START_LOCK needs CAP_IPC_LOCK and strict mode CAP_SYS_ADMIN; a thread of the kernel cannot be isolated, and a program that gets more rights at its exec only with CAP_SYS_PTRACE" },
	{ STEP_START_TASK, EINVAL,
	  "the kernel does not know a bit of mask, flags or start_flags: use ISOLATOR_MASK_*, ISOLATOR_TASK_* and ISOLATOR_START_*; or the thread is isolated already, with other times or flags: stop that first (isolator_stop_task())" },
	{ STEP_START_TASK, ERANGE,
	  "deadline_ns, spin_ns, yield_ns or batch_ns is out of range: 1 ms at least, and at most the caps in /proc/isolator/limits, which the administrator may raise" },
	{ STEP_START_TASK, ESRCH,
	  "there is no such thread, or it exits; tid is a thread's number as in /proc/PID/task" },
	{ STEP_START_TASK, ENOTUNIQ,
	  "the thread may run on more than one CPU; pin it to exactly one first: taskset -pc N TID" },
	{ STEP_START_TASK, EACCES,
	  "the administrator has not allowed the thread's CPU to be isolated; as root: echo LIST > /proc/isolator/cpus, where LIST has those that are there already" },
	{ STEP_START_TASK, EBUSY,
	  "the thread's CPU is the last housekeeping CPU, not counting those of nohz_full=, and one must stay; isolate another CPU, stop another isolation, or bring a CPU online; or the machine brings CPUs up or down, or suspends: call again" },
	{ STEP_START_TASK, EALREADY,
	  "a start waits for the thread already, or another thread isolates its CPU: isolator_stop_task() takes the first back, /proc/isolator/status shows the second" },
	{ STEP_START_TASK, EDQUOT,
	  "the thread's process has more memory than it may lock itself; raise that first (prlimit --pid TID --memlock=unlimited), or leave ISOLATOR_START_LOCK out" },
	{ STEP_START_TASK, EDEADLK,
	  "a thread cannot wait for its own start; leave ISOLATOR_TASK_WAIT out, or call isolator_start()" },
	{ STEP_START_TASK, EINTR,
	  "a signal arrived before the thread had started, and the start was taken back; call again" },
	{ STEP_START_TASK, ECANCELED,
	  "isolator_stop_task() took the start back before it began, or the thread was just executing another program: call again" },
	{ STEP_START_TASK, EAGAIN,
	  "the thread's CPU has not reached high-resolution timer mode yet (early boot, or no suitable clock source); try again later, and see /proc/timer_list" },
	{ STEP_START_TASK, EOPNOTSUPP,
	  "the running kernel lacks a facility that isolation needs; its log names it (dmesg | grep isolator)" },
	{ STEP_START_TASK, ENOTTY,
	  "the running kernel's Isolator is older or newer than this libisolator, and does not know its start of another thread; isolator_start(), in the thread itself, may work; install the libisolator that belongs to the running kernel, or boot the kernel that belongs to this one" },
	{ STEP_START_TASK, E2BIG,
	  "the running kernel's Isolator is older than this libisolator, and does not know something that was asked for of the other thread; leave that out, or boot the kernel that belongs to this libisolator" },
	{ STEP_START_TASK, ENOMEM,
	  "the kernel has no memory for the start; free some, and call again" },
	{ STEP_STOP_TASK, ESRCH,
	  "there is no such thread, or it is not isolated and nothing is armed for its exec" },
	{ STEP_STOP_TASK, EPERM,
	  "ending another thread's isolation needs CAP_SYS_NICE in the initial user namespace and the right to trace it (the same user, or CAP_SYS_PTRACE)" },
	{ STEP_STOP_TASK, ENOTTY,
	  "the running kernel's Isolator is older or newer than this libisolator, and does not know its stop of another thread; its end by isolator_stop(), in the thread itself, or by its exit works" },
	{ STEP_POOL, EINVAL,
	  "pool: begin the options with ISOLATOR_POOL_OPTIONS_INIT, the statistics with ISOLATOR_POOL_STATS_INIT, use only ISOLATOR_POOL_NO_* flags, and give a pool that isolator_pool_create() made in this process and that is not destroyed" },
	{ STEP_POOL, E2BIG,
	  "pool: the program asks for something newer than this libisolator; install the one that it was built with" },
	{ STEP_POOL, ERANGE,
	  "pool: bytes is out of range; ISOLATOR_POOL_BYTES_MIN to ISOLATOR_POOL_BYTES_MAX, or 0 for the default" },
	{ STEP_POOL, ENODEV,
	  "pool: the CPU does not exist, is offline, or is not in the thread's cpuset; see /sys/devices/system/cpu/online and Cpus_allowed_list in /proc/self/status" },
	{ STEP_POOL, ENOTUNIQ,
	  "pool: the thread may run on more than one CPU; pin it to exactly one first (sched_setaffinity(2), taskset -c N), or name the pool's CPU in the options" },
	{ STEP_POOL, EXDEV,
	  "pool: it belongs to another CPU than the one that the thread is pinned to; use the pool of this CPU, or pin the thread to the pool's" },
	{ STEP_POOL, EBUSY,
	  "pool: another thread uses it; that thread lets it go with isolator_pool_use(NULL), or by its exit" },
	{ STEP_POOL, ENOTRECOVERABLE,
	  "pool: its last user died within isolator_alloc() or isolator_free(); destroy the pool and make a new one" },
	{ STEP_POOL, EMFILE,
	  "pool: the process has ISOLATOR_POOLS_MAX pools already; destroy one first" },
	{ STEP_POOL, EPERM,
	  "pool: locking memory is not allowed; raise RLIMIT_MEMLOCK (ulimit -l) or give CAP_IPC_LOCK, or use ISOLATOR_POOL_NO_MLOCK" },
	{ STEP_POOL, EAGAIN,
	  "pool: its memory cannot be locked: RLIMIT_MEMLOCK is used up; raise it (ulimit -l) or give CAP_IPC_LOCK, ask for fewer bytes, or use ISOLATOR_POOL_NO_MLOCK" },
	{ STEP_POOL, ENOMEM,
	  "pool: there is not that much memory, address space or number of mappings (ulimit -v, the cgroup's memory.max, sysctl vm.max_map_count); ask for fewer bytes" },
	{ STEP_ALLOC, ENOMEM,
	  "alloc: the pool is exhausted: no room for a block of that size; make a larger pool, or free blocks (isolator_pool_stat() says how much it takes)" },
	{ STEP_ALLOC, E2BIG,
	  "alloc: the block is larger than the whole pool; make a larger pool" },
	{ STEP_ALLOC, ESRCH,
	  "alloc: this thread has no pool; give it one with isolator_pool_use()" },
	{ STEP_ALLOC, ENOTUNIQ,
	  "alloc: the thread is no longer on the CPU of its pool; pin it there (sched_setaffinity(2)), or use a pool of the new CPU" },
	{ STEP_ALLOC, EBUSY,
	  "alloc: a signal handler allocates while its thread is within isolator_alloc() or isolator_free(); handlers must not allocate" },
	{ STEP_FREE, EALREADY,
	  "free: the block is free already (a double free), or it was never allocated; the pool is unchanged" },
	{ STEP_FREE, EINVAL,
	  "free: the address lies in the pool but is not the beginning of a block; give what isolator_alloc() returned" },
	{ STEP_FREE, EXDEV,
	  "free: the block belongs to a pool that is not this thread's; free it in the thread that uses that pool" },
	{ STEP_FREE, EFAULT,
	  "free: the address is in no pool; what malloc() returned goes to free(3)" },
	{ STEP_FREE, ENOTUNIQ,
	  "free: the thread is no longer on the CPU of its pool; pin it there (sched_setaffinity(2)) to free its blocks" },
	{ STEP_FREE, EBUSY,
	  "free: a signal handler frees while its thread is within isolator_alloc() or isolator_free(); handlers must not free" },
	{ STEP_TOPOLOGY, EINVAL,
	  "topology: begin each structure with its *_INIT, and leave flags 0" },
	{ STEP_TOPOLOGY, E2BIG,
	  "topology: the program asks for something newer than this libisolator; install the one that it was built with" },
	{ STEP_TOPOLOGY, ENOENT,
	  "topology: there is no sys/devices/system/cpu/online below the root; mount sysfs, or name a root that has it" },
	{ STEP_TOPOLOGY, EBADMSG,
	  "topology: sys/devices/system/cpu/online is not a list of CPUs such as 0-3; take the capture again" },
	{ STEP_TOPOLOGY, ENODEV,
	  "topology: there is no CPU of that number; see isolator_topology_list() with ISOLATOR_CPU_POSSIBLE" },
	{ STEP_TOPOLOGY, ENXIO,
	  "topology: the CPU has no more caches, or they are not known" },
	{ STEP_TOPOLOGY, ENOMEM,
	  "topology: there is no memory for it; free some, and call again" },
	{ STEP_CREATE, EINVAL,
	  "channel options: size, slots, message_bytes or flags are wrong; begin with ISOLATOR_CHANNEL_OPTIONS_INIT, take a power of two from 8 to 1048576 slots, and messages of half a ring at most" },
	{ STEP_CREATE, E2BIG,
	  "channel or inbox options: the program asks for something newer than this libisolator; install the one that it was built with" },
	{ STEP_CREATE, EMFILE,
	  "the process has no descriptor left for a channel or inbox; raise RLIMIT_NOFILE (ulimit -n)" },
	{ STEP_CREATE, ENOSPC,
	  "there is no memory for the channel or inbox; ask for fewer slots or posters, or raise the limit of the control group" },
	{ STEP_CREATE, ENOMEM,
	  "there is no memory for the channel or inbox; ask for fewer slots or posters, or raise the limit of the control group" },
	{ STEP_SIDE, EINVAL,
	  "the side is ISOLATOR_SIDE_A or ISOLATOR_SIDE_B, alone or with ISOLATOR_SIDE_TAKE; channel must not be NULL" },
	{ STEP_SIDE, EBADF,
	  "the descriptor is not open for reading and writing; pass the one of isolator_channel_create() or isolator_inbox_create()" },
	{ STEP_SIDE, ENOTTY,
	  "the descriptor is not a channel or inbox, or its size can be changed by the other side; pass the one of isolator_channel_create() or isolator_inbox_create()" },
	{ STEP_SIDE, EPROTO,
	  "the header is damaged, of another version, or that of an inbox where a channel is opened, or the other way round; create a new channel or inbox, with one libisolator on all sides" },
	{ STEP_SIDE, EBUSY,
	  "another process, or another handle of this one, holds this side or lane; close it there, open another one, or add ISOLATOR_SIDE_TAKE when it hangs" },
	{ STEP_SIDE, ENOENT,
	  "/proc is not mounted here: opening a channel or inbox needs /proc/self/fd" },
	{ STEP_SIDE, EMFILE,
	  "the process has no descriptor left for the channel or inbox; raise RLIMIT_NOFILE (ulimit -n)" },
	{ STEP_SIDE, ENOMEM,
	  "the channel or inbox could not be mapped: no memory or too many mappings (sysctl vm.max_map_count)" },
	{ STEP_INBOX, EINVAL,
	  "inbox: size, posters, slots, message_bytes or flags are wrong, or there is no such poster; begin with ISOLATOR_INBOX_OPTIONS_INIT, take 1 to 256 posters and a power of two from 8 to 1048576 slots, and number posters from 0" },
	{ STEP_SIDE, EAGAIN,
	  "the channel or inbox could not be locked in memory: RLIMIT_MEMLOCK is used up; raise it (ulimit -l unlimited)" },
	{ STEP_CLOSE, EDEADLK,
	  "a callback closes the channel or inbox that called it; close it after the poll has returned" },
	{ STEP_REGISTER, EINVAL,
	  "a type is below ISOLATOR_TYPES, or ISOLATOR_TYPE_GAP for gaps" },
	{ STEP_STATS, EINVAL,
	  "channel statistics: size is wrong; begin with ISOLATOR_CHANNEL_COUNTERS_INIT" },
	{ STEP_POST, EINVAL,
	  "a message's type is below ISOLATOR_TYPES" },
	{ STEP_POST, EMSGSIZE,
	  "the message is longer than the channel's message_bytes; create the channel with more, or post parts" },
	{ STEP_POST, EAGAIN,
	  "the ring is full: the other side has not polled; post again later, or create the channel with more slots" },
	{ STEP_POLL, EDEADLK,
	  "a callback polls the channel or inbox that called it; return from the callback first" },
	{ STEP_POLL, EOPNOTSUPP,
	  "this handle comes from isolator_inbox_join() and only posts; poll a channel, or the inbox" },
};

static const char *const ends[] = {
	[ISOLATOR_END_NONE] = "it has not ended",
	[ISOLATOR_END_STOP] = "isolator_stop() ended it",
	[ISOLATOR_END_EXIT] = "the thread exited",
	[ISOLATOR_END_EXEC] = "the thread executed another program",
	[ISOLATOR_END_AFFINITY] = "a cpuset or an affinity change took the CPU away from the thread, or gave it others",
	[ISOLATOR_END_HOTPLUG] = "the CPU went offline",
	[ISOLATOR_END_SYSTEM] = "the system suspends, hibernates, reboots or starts another kernel",
	[ISOLATOR_END_ADMIN] = "an administrator took the CPU out of /proc/isolator/cpus, or another program ended it (isolator_stop_task())",
};

/* The last failures of this thread, and room for a text that is not in the table. */
static __thread struct {
	enum isolator_step step;
	int error;	/* 0: none */
} failures[8];
static __thread unsigned int newest;
static __thread char other[128];

#define FAILURES (sizeof(failures) / sizeof(failures[0]))

int isolator_failed(enum isolator_step step, int error)
{
	/* A program that polls fails the same way again and again. */
	if (failures[newest].error != error || failures[newest].step != step) {
		newest = (newest + 1) % FAILURES;
		failures[newest].step = step;
		failures[newest].error = error;
	}
	return -error;
}

/* What it meant when this thread met it last; NULL: no step has a text for that. */
static const char *text_of(int error)
{
	const char *only = NULL;
	unsigned int failure = newest;
	bool met = false;

	for (size_t i = 0; i < FAILURES && !met; i++) {
		failure = (newest + FAILURES - i) % FAILURES;
		met = failures[failure].error == error;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].error != error || (met && texts[i].step != failures[failure].step))
			continue;
		/* Of several steps none is meant rather than another. */
		if (only)
			return NULL;
		only = texts[i].text;
	}
	return only;
}

EXPORT const char *isolator_strerror(int error)
{
	const char *name;

	if (error < 0)
		error = -error;
	if (error == 0)
		return "no error";
	name = text_of(error);
	if (name)
		return name;
	name = strerrordesc_np(error);
	snprintf(other, sizeof(other), "%s (errno %d)", name ? name : "unknown error", error);
	return other;
}

EXPORT const char *isolator_strend(unsigned int end)
{
	if (end < sizeof(ends) / sizeof(ends[0]))
		return ends[end];
	return "for a reason that this libisolator does not know; install the one that belongs to the running kernel";
}

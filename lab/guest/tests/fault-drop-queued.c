// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-drop-queued
 * cpus: 2
 * kernel: isolator-faults
 * arch: x86_64
 * timeout: 60
 * alone: yes
 * leaves: yes
 * about: planted fault: a queued request is dropped
 */
#include "fault.h"

#define DEVICE	"/dev/cpu/1/msr"
#define LIMITS	"/proc/isolator/limits"
#define PAT	0x277

/* A call to the isolated CPU runs at a tick, and its sender is told. */
static bool check(void)
{
	struct worker *w = worker_new(1);
	uint64_t types;
	int status;
	bool back;
	pid_t pid;

	w->tick_ms = 10;
	w->spin_ns = SEC;
	w->deadline_ns = 5 * SEC;
	need_worker(worker_process(w));
	pid = fork();	/* a dropped request leaves it asleep for good */
	if (!pid) {
		int fd = open(DEVICE, O_RDONLY);

		_exit(pread(fd, &types, sizeof(types), PAT) == sizeof(types) ? 0 : 1);
	}
	back = comes(waitpid(pid, &status, WNOHANG) == pid, 2000) && !status;
	worker_end(w);
	return back && !w->missed;
}

int main(void)
{
	iso_require(2);
	if (access(DEVICE, R_OK))
		bail_out("no " DEVICE);
	/* Such reads are refused, unless the administrator wants them to wait. */
	if (put_file(LIMITS, "msr queue"))
		bail_out("reads cannot be made to wait");
	return with_fault("drop_queued", check);
}

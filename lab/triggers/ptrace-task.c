// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: ptrace-task
 * row: 50
 * class: queue
 * kind: program
 * notick: no
 * about: a debugger stops the task, reads its registers and lets it go
 */
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include "machine.h"
#include "task.h"

enum { ROUNDS = 3 };

int main(void)
{
	int tid = env_number("TASK_TID"), stopped = 0, resumed = 0, status;

	for (int i = 0; i < ROUNDS; i++) {
		struct user_regs_struct regs = { 0 };
		struct iovec iov = { &regs, sizeof(regs) };

		need(!ptrace(PTRACE_SEIZE, tid, NULL, NULL));
		need(!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL));
		need(waitpid(tid, &status, __WALL) == tid);
		need(!ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov));
		stopped += WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP &&
			regs.USER_PC && task_state() == 't';
		need(!ptrace(PTRACE_DETACH, tid, NULL, NULL));
		resumed += task_goes_on();
	}
	answer(stopped == ROUNDS && resumed == ROUNDS, "done",
	       "stopped %d times of %d and went on %d times", stopped, ROUNDS, resumed);
}

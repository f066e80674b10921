// SPDX-License-Identifier: GPL-2.0-or-later
/* Enters the kernel as often as it can, for next to nothing. */
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "interfere/work.h"

#define BATCH 1024

static int settle(struct work *work)
{
	work->words = text_format("getppid(2) in a loop");
	return 0;
}

static void run(struct work *work) __attribute__((noreturn));

static void run(struct work *work)
{
	work_ready(work);
	for (;;) {
		for (int i = 0; i < BATCH; i++)
			syscall(SYS_getppid);
		work_did(work->slot, BATCH);
	}
}

const struct work_type work_syscalls = {
	.type = {
		.name = "syscalls",
		.about = "enters the kernel by a cheap system call, in a loop",
		.operation = "calls",
	},
	.settle = settle,
	.run = run,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that ticks for the program, in calls that do not enter the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <isolator/preload.h>

#include "base/error.h"
#include "base/text.h"
#include "proc/device.h"
#include "run/run.h"

int run_preload_make(struct run *run)
{
	void *memory;

	/* The program, maybe another user's, has it too: cut off, it would end this command. */
	run->preload_fd = memfd_create("isolator", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (run->preload_fd < 0 || ftruncate(run->preload_fd, PRELOAD_BYTES) ||
	    fcntl(run->preload_fd, F_ADD_SEALS, PRELOAD_SEALS))
		return error_say("--preload: cannot make memory for its counts: %s",
				 strerror(errno));
	memory = mmap(NULL, PRELOAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, run->preload_fd, 0);
	if (memory == MAP_FAILED)
		return error_say("--preload: cannot map its counts: %s", strerror(errno));
	*(struct preload_counts *)memory = (struct preload_counts){ .magic = PRELOAD_MAGIC };
	run->preload_counts = memory;
	return 0;
}

int run_preload_enter(const struct run *run)
{
	const char *others = getenv("LD_PRELOAD");
	int device = device_open(run->root), error = 0;
	char *list, *text;

	if (device < 0)
		return errno;
	list = text_format("%s%s%s", run->preload, others && *others ? ":" : "",
			   others ? others : "");
	text = text_format("%d %d", device, run->preload_fd);
	if (fcntl(device, F_SETFD, 0) < 0 || fcntl(run->preload_fd, F_SETFD, 0) < 0 ||
	    setenv("LD_PRELOAD", list, 1) || setenv(PRELOAD_VARIABLE, text, 1))
		error = errno;
	free(text);
	free(list);
	return error;
}

uint64_t *run_preload_starts(const struct run *run)
{
	struct preload_counts *counts = run->preload_counts;

	return counts ? &counts->starts : NULL;
}

bool run_preload_ticks(const struct run *run, uint64_t *ticks)
{
	const struct preload_counts *counts = run->preload_counts;

	*ticks = counts ? counts->ticks : 0;
	return counts && counts->loaded;
}

void run_preload_free(struct run *run)
{
	if (run->preload_counts)
		munmap(run->preload_counts, PRELOAD_BYTES);
	if (run->preload_fd > 0)
		close(run->preload_fd);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* What a kernel with Isolator can do besides. */
#include <fcntl.h>
#include <unistd.h>

#include "proc.h"
#include "root.h"
#include "run.h"

bool run_start_possible(const struct run *run)
{
	int fd = root_open(run->root, PROC_DEVICE, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

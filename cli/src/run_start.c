// SPDX-License-Identifier: GPL-2.0-or-later
/* What a kernel with Isolator can do besides. */
#include <fcntl.h>
#include <unistd.h>

#include "root.h"
#include "run.h"

#define DEVICE "/dev/isolator"

bool run_start_possible(const struct run *run)
{
	int fd = root_open(run->root, DEVICE, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

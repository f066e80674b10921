// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A /dev/cpu_dma_latency that takes each request, and obeys the first $OBEYS of the looks
 * at it: linked with --wrap=pread64.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t __wrap_pread64(int file, void *buffer, size_t size, off_t offset);
ssize_t __real_pread64(int file, void *buffer, size_t size, off_t offset);

ssize_t __wrap_pread64(int file, void *buffer, size_t size, off_t offset)
{
	const int32_t none = 2000000000;
	static int looks;

	if (looks++ < atoi(getenv("OBEYS")))
		return __real_pread64(file, buffer, size, offset);
	memcpy(buffer, &none, sizeof(none));
	return sizeof(none);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/root.h"
#include "sampling/dma.h"

#define DEVICE "/dev/cpu_dma_latency"
#define NAME "dma_latency"

static void say(struct asked_list *settings, int32_t us, const char *got, bool held,
		const char *what, const char *why)
{
	char asked[32];

	snprintf(asked, sizeof(asked), "%" PRId32 " us", us);
	if (held)
		asked_add(settings, NAME, asked, got, true, true, NULL);
	else
		asked_add(settings, NAME, asked, got, false, true, DEVICE " %s: %s", what, why);
}

bool dma_check(const struct dma *dma, struct asked_list *settings)
{
	int32_t us = 0;
	ssize_t n = pread(dma->file, &us, sizeof(us), 0);
	char got[32];

	if (n != (ssize_t)sizeof(us)) {
		say(settings, dma->us, NULL, false, "cannot be read back",
		    n < 0 ? strerror(errno) : "it is not that device");
		return false;
	}
	snprintf(got, sizeof(got), "%" PRId32 " us", us);
	/* Another one may ask for less: the least counts. */
	say(settings, dma->us, got, us >= 0 && us <= dma->us, "took the request and does not obey it",
	    got);
	return us >= 0 && us <= dma->us;
}

bool dma_open(struct dma *dma, const char *root, unsigned int us, struct asked_list *settings)
{
	*dma = (struct dma){ .file = root_open(root, DEVICE, O_RDWR), .us = (int32_t)us };
	if (dma->file < 0) {
		say(settings, dma->us, NULL, false, "cannot be opened",
		    errno == EACCES || errno == EPERM ? "it is for root" : strerror(errno));
		return false;
	}
	if (pwrite(dma->file, &dma->us, sizeof(dma->us), 0) != (ssize_t)sizeof(dma->us)) {
		say(settings, dma->us, NULL, false, "does not take the request", strerror(errno));
		return false;
	}
	return dma_check(dma, settings);
}

void dma_close(struct dma *dma)
{
	if (dma->file >= 0)
		close(dma->file);
	dma->file = -1;
}

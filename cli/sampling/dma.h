/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a CPU may take to leave an idle state: a request to /dev/cpu_dma_latency,
 * which lasts as long as the file is open.
 */
#ifndef DMA_H
#define DMA_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/asked.h"

struct dma {
	int file;		/* -1: nothing is asked for */
	int32_t us;
};

/*
 * Asks for at most @us on the machine below @root, reads it back, and says so in
 * @settings.  False: it does not hold.
 */
bool dma_open(struct dma *dma, const char *root, unsigned int us, struct asked_list *settings);

/* Does it still hold?  Says so in @settings. */
bool dma_check(const struct dma *dma, struct asked_list *settings);

void dma_close(struct dma *dma);

#endif

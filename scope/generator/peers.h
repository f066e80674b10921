/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The generator as a client of an ivshmem server: the lines, and who shares them. */
#ifndef PEERS_H
#define PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ivshmem.h"
#include "scope_lines.h"

struct peers {
	int socket;		/* -1: the server has gone */
	int memory;
	int64_t own_id;
	int64_t last_id;	/* whose doorbells come */
	struct ivshmem_part part;
	struct scope_lines *lines;
};

/*
 * Connects to the server at @path, and begins one where there is none.  The lines are then
 * this process' alone to trigger on.  False: @why says what is wrong and what to do.
 */
bool peers_join(struct peers *peers, const char *path, char *why, size_t size);

void peers_leave(struct peers *peers);

enum peers_event {
	PEERS_NONE,
	PEERS_CAME,		/* @id, whose doorbell @file is the caller's now */
	PEERS_WENT,		/* @id */
	PEERS_SERVER_WENT,	/* those who are there stay */
};

/* What happened next; does not wait. */
enum peers_event peers_next(struct peers *peers, uint64_t *id, int *file);

#endif

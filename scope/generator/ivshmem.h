/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between an ivshmem server and its clients: QEMU's docs/specs/ivshmem-spec. */
#ifndef IVSHMEM_H
#define IVSHMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IVSHMEM_VERSION 0
#define IVSHMEM_MEMORY (-1)	/* what comes with the shared memory */

/* A part of a message that has not come as a whole yet. */
struct ivshmem_part {
	uint8_t bytes[8];
	size_t have;
	int file;		/* -1: none came with it so far */
};

/* @file is -1 for none.  False: the client does not read, or has gone. */
bool ivshmem_send(int socket, int64_t number, int file);

/*
 * 1: @number and @file, which is the caller's or -1; 0: not all of it is there yet; -1: the
 * server has gone.
 */
int ivshmem_receive(int socket, struct ivshmem_part *part, int64_t *number, int *file);

/* Into @address, a struct sockaddr_un's; false: the path is too long or empty. */
struct sockaddr_un;
bool ivshmem_address(struct sockaddr_un *address, const char *path);

#endif

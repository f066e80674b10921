/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ivshmem server, in a process of its own: it has the lines and the doorbells, so that a
 * generator which was killed finds them again.  It goes with its last client.
 */
#ifndef KEEPER_H
#define KEEPER_H

#define KEEPER_CLIENTS 16
#define KEEPER_IDS 65535	/* that QEMU takes: so many clients may come, one after another */
#define KEEPER_VECTORS 1	/* doorbells of each client: QEMU has no more, with vectors=1 */

/*
 * Begins one that listens at @path, where there is none.  Returns 0; else -1, and errno
 * says why: EADDRINUSE if the path is another thing than what a server left.
 */
int keeper_begin(const char *path);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where scrapes come in: a socket of this machine, or one that others reach. */
#ifndef LISTEN_H
#define LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

struct listener {
	int file;
	const char *path;	/* of the socket; NULL: it is TCP */
	bool local;		/* TCP that only this machine reaches, so each of its users */
	dev_t device;		/* by which it is known when it is removed */
	ino_t inode;
};

/*
 * Listens at @address: a path with a slash, 127.0.0.1:PORT or [::1]:PORT; any other address
 * of this machine only with @remote.  @names: what is for root is shown, which is said where
 * others see it.  0, and says where; -1, said why.
 */
int listen_open(struct listener *listener, const char *address, bool remote, bool names);

/* The socket's path is removed, unless it is another's by now. */
void listen_close(struct listener *listener);

#endif

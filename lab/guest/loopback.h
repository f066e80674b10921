/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loopback device and two UDP sockets that talk over it. */
#ifndef LAB_LOOPBACK_H
#define LAB_LOOPBACK_H

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOPBACK_INDEX 1	/* in every network namespace */

struct loopback {
	int from, to;
	bool was_up;
};

static inline int loopback_set(int fd, bool up, bool *was_up)
{
	struct ifreq ifr = { .ifr_name = "lo" };

	if (ioctl(fd, SIOCGIFFLAGS, &ifr))
		return -1;
	*was_up = ifr.ifr_flags & IFF_UP;
	if (up)
		ifr.ifr_flags |= IFF_UP;
	else
		ifr.ifr_flags &= (short)~IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &ifr);
}

/* Brings the device up and connects the sockets; 0 or -1. */
static inline int loopback_open(struct loopback *lo)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(addr);

	lo->from = socket(AF_INET, SOCK_DGRAM, 0);
	lo->to = socket(AF_INET, SOCK_DGRAM, 0);
	if (lo->from < 0 || lo->to < 0 || loopback_set(lo->to, true, &lo->was_up) ||
	    bind(lo->to, (struct sockaddr *)&addr, sizeof(addr)) ||
	    getsockname(lo->to, (struct sockaddr *)&addr, &size))
		return -1;
	return connect(lo->from, (struct sockaddr *)&addr, size);
}

static inline void loopback_close(struct loopback *lo)
{
	bool up;

	if (!lo->was_up)
		loopback_set(lo->to, false, &up);
	close(lo->from);
	close(lo->to);
}

/* Sends one message; did it arrive? */
static inline bool loopback_passes(struct loopback *lo)
{
	char byte = 1;

	if (send(lo->from, &byte, 1, 0) != 1)
		return false;
	for (int wait = 0; wait < 10; wait++) {
		if (recv(lo->to, &byte, 1, MSG_DONTWAIT) == 1)
			return true;
		usleep(1000);
	}
	return false;
}

#endif

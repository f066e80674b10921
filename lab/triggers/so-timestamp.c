// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: so-timestamp
 * row: 88
 * class: defer
 * kind: program
 * notick: no
 * about: a first socket asks for time stamps: the network code that takes them is patched in
 */
#include "loopback.h"
#include "trigger.h"

enum { ROUNDS = 3, WAITS = 100, LATE_MS = 20 };

/*
 * Milliseconds between a message's stamp and its receipt.  Without stamps at
 * arrival the kernel fills in the time of receipt.
 */
static double stamp_age(struct loopback *lo)
{
	char byte, control[CMSG_SPACE(sizeof(struct timespec))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct timespec now, stamp;
	struct cmsghdr *c;

	need(send(lo->from, "", 1, 0) == 1);
	usleep(LATE_MS * 1000);
	need(recvmsg(lo->to, &msg, MSG_DONTWAIT) == 1);
	clock_gettime(CLOCK_REALTIME, &now);
	c = CMSG_FIRSTHDR(&msg);
	need(c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS);
	memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
	return (double)(now.tv_sec - stamp.tv_sec) * 1e3 +
		(double)(now.tv_nsec - stamp.tv_nsec) * 1e-6;
}

int main(void)
{
	int on = 1, stamped = 0;
	struct loopback lo;

	for (int i = 0; i < ROUNDS; i++) {
		bool arrived = false;

		need(!loopback_open(&lo));
		need(!setsockopt(lo.to, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)));
		/* A worker patches the code. */
		for (int wait = 0; wait < WAITS && !arrived; wait++)
			arrived = stamp_age(&lo) > LATE_MS * 0.75;
		stamped += arrived;
		loopback_close(&lo);
	}
	answer(stamped == ROUNDS, "done", "%d of %d sockets saw when a message arrived",
	       stamped, ROUNDS);
}

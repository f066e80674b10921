// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-keep-remote
 * cpus: 2
 * kernel: isolator-faults
 * timeout: 60
 * about: planted fault: work that any CPU can do stays with the isolated one
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>
#include "fault.h"

#define STEERING "/sys/class/net/lo/queues/rx-0/rps_cpus"

static int udp_pair[2];

/* A socket that receives and one that sends to it, over the loopback device. */
static void connect_pair(void)
{
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct timeval patience = { .tv_usec = 500000 };
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 2; i++)
		udp_pair[i] = socket(AF_INET, SOCK_DGRAM, 0);
	if (udp_pair[1] < 0 || ioctl(udp_pair[0], SIOCSIFFLAGS, &up) ||
	    bind(udp_pair[0], (struct sockaddr *)&addr, len) ||
	    getsockname(udp_pair[0], (struct sockaddr *)&addr, &len) ||
	    connect(udp_pair[1], (struct sockaddr *)&addr, len) ||
	    setsockopt(udp_pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		bail_out("no loopback network");
}

/* Packets steered to the isolated CPU arrive, though it never ticks. */
static bool check(void)
{
	struct worker *w = worker_new(1);
	int arrived = 0;
	char byte;

	w->deadline_ns = 60 * SEC;
	w->spin_ns = SEC;
	need_worker(worker_thread(w));
	if (put_file(STEERING, "2"))
		bail_out("packets cannot be steered");
	for (int i = 0; i < 5; i++)
		if (send(udp_pair[1], "x", 1, 0) == 1)
			arrived += recv(udp_pair[0], &byte, 1, 0) == 1;
	diag("%d of 5 packets arrived, %llu deadline misses", arrived,
	     (unsigned long long)w->iso.page->missed);
	if (w->iso.page->missed)
		arrived = 0;
	worker_end(w);
	put_file(STEERING, "0");
	/* What comes late is not for the next round. */
	while (recv(udp_pair[0], &byte, 1, MSG_DONTWAIT) == 1)
		;
	return arrived == 5;
}

int main(void)
{
	iso_require(2);
	connect_pair();
	return with_fault("keep_remote", check);
}

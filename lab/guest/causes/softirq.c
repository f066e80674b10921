// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A softirq: packets over the loopback device that are steered to the measured CPU, whose
 * NET_RX runs a long filter for each.  They are steered by where their receiver last ran
 * (RFS): CPUs can be named to RPS only where they are not isolated at boot.  On PREEMPT_RT
 * a thread of the kernel receives them.
 */
#include <linux/filter.h>
#include "../loopback.h"
#include "cause.h"

#define FLOWS		"/proc/sys/net/core/rps_sock_flow_entries"
#define QUEUE_FLOWS	"/sys/class/net/lo/queues/rx-0/rps_flow_cnt"
/* The longest that the kernel takes. */
enum { FILTER = BPF_MAXINSNS, PATIENCE_NS = 500000000 };

static struct loopback lo;

/* Packets that @cpu took from its queue. */
static long processed(int cpu)
{
	FILE *f = fopen("/proc/net/softnet_stat", "re");
	unsigned int n, index;
	long count = -1;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%x %*x %*x %*x %*x %*x %*x %*x %*x %*x %*x %*x %x",
			   &n, &index) == 2 && (int)index == cpu)
			count = n;
	if (f)
		fclose(f);
	return count;
}

/* The kernel notes where the receiver runs: here, for one message. */
static void *receive(void *arg)
{
	const struct aim *aim = arg;
	char byte;

	if (!pin(0, aim->cpu))
		recv(lo.to, &byte, 1, MSG_DONTWAIT);
	return NULL;
}

/* Takes long, and then drops the packet. */
static int attach(int fd)
{
	static struct sock_filter code[FILTER];
	const struct sock_fprog program = { .len = FILTER, .filter = code };

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0);
	for (int i = 1; i < FILTER - 1; i++)
		code[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_K |
						       (i % 2 ? BPF_DIV : BPF_ADD), 7);
	code[FILTER - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ?
		-errno : 0;
}

static int prepare(const struct aim *aim, long size)
{
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	pthread_t thread;
	char byte = 1;
	int error;

	error = file_put(FLOWS, "256");
	if (!error)
		error = file_put(QUEUE_FLOWS, "256");
	if (error)
		return error;
	/* Only of a connected socket the kernel notes where it is read. */
	if (loopback_open(&lo) || getsockname(lo.from, (struct sockaddr *)&from, &length) ||
	    connect(lo.to, (struct sockaddr *)&from, length) ||
	    send(lo.from, &byte, 1, 0) != 1)
		return -errno;
	if (pthread_create(&thread, NULL, receive, (void *)aim))
		return -EAGAIN;
	pthread_join(thread, NULL);
	return attach(lo.to);
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	long before = processed(aim->cpu), came = 0;
	char byte = 1;

	truth->from_ns = now_ns();
	for (long i = 0; i < size; i++)
		if (send(lo.from, &byte, 1, 0) != 1)
			return -errno;
	while (came < size && now_ns() < truth->from_ns + PATIENCE_NS) {
		sleep_until(now_ns() + 200000);
		came = processed(aim->cpu) - before;
	}
	truth->to_ns = now_ns();
	truth->happened = came >= size;
	snprintf(truth->evidence, sizeof(truth->evidence), "\"packets\":%ld", came);
	return 0;
}

static void restore(const struct aim *aim)
{
	loopback_close(&lo);
	file_put(QUEUE_FLOWS, "0");
	file_put(FLOWS, "0");
}

CAUSE(softirq, "softirq", "packets", prepare, inject, restore);

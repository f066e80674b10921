// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: rps
 * row: 80
 * class: remote
 * kind: program
 * notick: no
 * in: check
 * about: packets are to be received on the isolated CPU only, and must arrive all the same
 */
#include "loopback.h"
#include <fcntl.h>
#include <sys/time.h>
#include "task.h"

#define RPS_CPUS "/sys/class/net/lo/queues/rx-0/rps_cpus"
enum { PACKETS = 16 };

/* 0 or an error. */
static int put(const char *text)
{
	int fd = open(RPS_CPUS, O_WRONLY), error = 0;

	need(fd >= 0);
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

static unsigned long get(void)
{
	FILE *f = fopen(RPS_CPUS, "r");
	unsigned long mask;

	if (!f)
		answer(false, "done", "missing: " RPS_CPUS);
	need(fscanf(f, "%lx", &mask) == 1);
	fclose(f);
	return mask;
}

/* Packets that this CPU took from its queue. */
static unsigned int processed(int cpu)
{
	FILE *f = fopen("/proc/net/softnet_stat", "r");
	unsigned int count = 0, n, index;
	char line[256];

	need(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%x %*x %*x %*x %*x %*x %*x %*x %*x %*x %*x %*x %x",
			   &n, &index) == 2 && (int)index == cpu)
			count = n;
	fclose(f);
	return count;
}

/* How many packets arrive, in order. */
static int exchange(void)
{
	struct timeval patience = { .tv_sec = 5 };
	struct loopback lo;
	int arrived = 0, got;

	need(!loopback_open(&lo));
	need(!setsockopt(lo.to, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
	for (int i = 0; i < PACKETS; i++)
		need(send(lo.from, &i, sizeof(i), 0) == sizeof(i));
	while (arrived < PACKETS && recv(lo.to, &got, sizeof(got), 0) == sizeof(got) &&
	       got == arrived)
		arrived++;
	loopback_close(&lo);
	return arrived;
}

int main(void)
{
	int iso = env_number("ISO_CPU"), refused, arrived;
	unsigned int before = processed(iso), steered;
	unsigned long home = get(), now;
	char text[24];

	snprintf(text, sizeof(text), "%lx", 1ul << iso);
	refused = put(text);
	now = get();
	arrived = exchange();
	steered = processed(iso) - before;
	snprintf(text, sizeof(text), "%lx", home);
	need(!put(text) && get() == home);
	/* A kernel that was booted with this CPU isolated refuses such a mask. */
	if (!refused && now != 1ul << iso)
		answer(false, "done", "the mask reads %lx", now);
	answer(arrived == PACKETS && (refused || steered || task_isolated()), "done",
	       "%d of %d packets arrived, %u by way of CPU %d%s", arrived, PACKETS,
	       steered, iso, refused ? "; the mask was refused" : "");
}

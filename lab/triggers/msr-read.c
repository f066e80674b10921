// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: msr-read
 * row: 120
 * class: refuse
 * kind: program
 * arch: x86_64
 * needs: the MSR device
 * notick: no
 * about: registers of the isolated CPU are read through its device file
 */
#include "trigger.h"

/* The kernel sets one to the number of the CPU, the other to the same on all. */
enum { ROUNDS = 3, MSR_PAT = 0x277 };
#define MSR_TSC_AUX 0xc0000103u

/* 0 and the value, or an error. */
static int msr(int cpu, unsigned int number, uint64_t *value)
{
	char name[32];
	int fd, error = 0;

	snprintf(name, sizeof(name), "/dev/cpu/%d/msr", cpu);
	fd = open(name, O_RDONLY);
	if (fd < 0)
		return errno;
	if (pread(fd, value, sizeof(*value), number) != sizeof(*value))
		error = errno;
	close(fd);
	return error;
}

int main(void)
{
	int iso = env_number("ISO_CPU"), read = 0, refused = 0;
	uint64_t number, here, there;

	errno = msr(env_number("HK_CPU"), MSR_PAT, &here);
	if (errno == ENOENT)
		answer(false, "done", "missing: /dev/cpu/*/msr");
	need(!errno);
	for (int i = 0; i < ROUNDS; i++) {
		errno = msr(iso, MSR_TSC_AUX, &number);
		if (!errno)
			errno = msr(iso, MSR_PAT, &there);
		if (errno == EBUSY) {
			refused++;
			continue;
		}
		need(!errno);
		read += (number & 0xfff) == (uint64_t)iso && there == here;
	}
	if (refused)
		answer(refused == ROUNDS, "refused", "EBUSY %d times of %d",
		       refused, ROUNDS);
	answer(read == ROUNDS, "done",
	       "%d of %d times it told its number, and a PAT as ours", read, ROUNDS);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: cpuid-read
 * row: 70
 * class: refuse
 * kind: program
 * arch: x86_64
 * needs: the CPUID device
 * notick: no
 * about: what the isolated CPU is gets read through its device file
 */
#include "modules.h"
#include "trigger.h"

enum { ROUNDS = 3, LEAF_VENDOR = 0 };

/* 0 and the leaf, or an error. */
static int leaf(int cpu, uint32_t regs[4])
{
	char name[32];
	int fd, error = 0;

	snprintf(name, sizeof(name), "/dev/cpu/%d/cpuid", cpu);
	fd = open(name, O_RDONLY);
	if (fd < 0)
		return errno;
	if (pread(fd, regs, 16, LEAF_VENDOR) != 16)
		error = errno;
	close(fd);
	return error;
}

int main(void)
{
	int same = 0, refused = 0, error;
	uint32_t here[4], there[4];

	if (!module_load("cpuid"))
		answer(false, "done", "missing: cpuid.ko");
	error = leaf(env_number("HK_CPU"), here);
	for (int i = 0; i < ROUNDS && !error; i++) {
		error = leaf(env_number("ISO_CPU"), there);
		same += !error && !memcmp(here, there, sizeof(here));
		refused += error == EBUSY;
		if (error == EBUSY)
			error = 0;
	}
	if (!module_unload("cpuid"))
		answer(false, "done", "the module does not go");
	errno = error;
	need(!error);
	if (refused)
		answer(refused == ROUNDS, "refused", "EBUSY %d times of %d",
		       refused, ROUNDS);
	answer(same == ROUNDS, "done", "%d of %d reads as on our CPU", same, ROUNDS);
}

// SPDX-License-Identifier: GPL-2.0-only
/* No interrupt of any kind is counted on an isolated CPU whose task is in user mode. */
#define _GNU_SOURCE
#include "helpers.h"

/* All that /proc/interrupts has counted on a CPU, not the first; -1 where it is not there. */
static long long counted(int cpu)
{
	static char text[1 << 20];
	char *line, *rest = text, *word, name[16];
	int columns = 0, i;
	long long sum = 0;

	if (get_file("/proc/interrupts", text, sizeof(text)))
		return -1;
	snprintf(name, sizeof(name), "CPU%d", cpu);
	line = strsep(&rest, "\n");
	for (word = strtok(line, " "), i = 1; word; word = strtok(NULL, " "), i++) {
		if (!strcmp(word, name))
			columns = i;
	}
	if (!columns)
		return -1;
	while ((line = strsep(&rest, "\n"))) {
		char *at = strchr(line, ':'), *end;
		long long count = 0;

		if (!at)
			continue;
		for (at++, i = 0; i < columns; i++, at = end) {
			count = strtoll(at, &end, 10);
			if (end == at)
				break;
		}
		/* ERR and MIS have one number, which is of no CPU. */
		if (i == columns)
			sum += count;
	}
	return sum;
}

/* How many come in two seconds beside a worker of its own process. */
static int count(struct worker *w, long long *found)
{
	int error = worker_process(w);

	if (error)
		return error;
	/* What the start moved away is through. */
	usleep(300000);
	*found = counted(w->cpu);
	usleep(2000000);
	*found = counted(w->cpu) - *found;
	worker_end(w);
	return 0;
}

FIXTURE(quiet) {
	struct machine machine;
	struct worker *worker;
};

FIXTURE_SETUP(quiet)
{
	const char *reason = machine_get(&self->machine);

	if (reason)
		SKIP(return, "%s", reason);
	self->worker = worker_new(self->machine.cpu);
	ASSERT_NE(NULL, self->worker);
}

FIXTURE_TEARDOWN(quiet)
{
	machine_put(&self->machine);
}

/* What counts zero below has to be seen to count. */
TEST_F(quiet, not_isolated)
{
	long long found;

	self->worker->plain = true;
	ASSERT_EQ(0, count(self->worker, &found));
	EXPECT_LT(0, found);
}

TEST_F(quiet, isolated)
{
	long long found;

	/* A tick would interrupt itself, by irq_work; nothing but a sender that spins ends this. */
	self->worker->asked.deadline_ns = ISOLATOR_DEADLINE_NEVER;
	/* A virtual CPU's turn may come late: that is not what is tested. */
	self->worker->asked.spin_ns = SEC;
	ASSERT_EQ(0, count(self->worker, &found));
	EXPECT_EQ(0, found);
	EXPECT_EQ(0, self->worker->missed);
}

TEST_HARNESS_MAIN

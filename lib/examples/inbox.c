// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Four processes post to one that counts.  One of them is killed while it posts, and another
 * takes its lane: the receiver neither waits nor notices.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <isolator.h>

enum { READING = 1 };

#define SENSORS		4U
#define READINGS	20000U

struct reading {
	uint64_t number;	/* from 1 on */
	double value;
};

struct state {
	struct isolator_inbox *inbox;
	uint64_t last[SENSORS];
	uint64_t wrong;
};

static void check(const char *call, int error)
{
	if (error < 0) {
		fprintf(stderr, "%s: %s\n", call, isolator_strerror(error));
		exit(1);
	}
}

static void on_reading(void *context, unsigned int type, const void *data, size_t length)
{
	struct state *state = context;
	const struct reading *reading = data;
	unsigned int sensor = isolator_inbox_sender(state->inbox);

	(void)type;
	if (length != sizeof(*reading) || reading->number != state->last[sensor] + 1)
		state->wrong++;
	state->last[sensor] = reading->number;
}

static void on_gap(void *context, unsigned int type, const void *data, size_t length)
{
	struct state *state = context;

	(void)type, (void)data, (void)length;
	state->wrong++;
}

/* A process of its own, which posts from @number on, @count readings or until it is killed. */
static pid_t start_sensor(int fd, unsigned int sensor, uint64_t number, uint64_t count)
{
	struct isolator_channel *channel;
	pid_t child = fork();

	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	check("isolator_inbox_join", isolator_inbox_join(fd, sensor, &channel));
	for (uint64_t end = number + count; number < end; number++) {
		struct reading reading = { number, (double)number };

		while (isolator_post(channel, READING, &reading, sizeof(reading)) < 0)
			sched_yield();
	}
	isolator_channel_close(channel);
	_exit(0);
}

/* Without a CPU of our own: let the others have this. */
static void poll(struct state *state)
{
	if (isolator_inbox_poll(state->inbox, 16) == 0)
		sched_yield();
}

int main(void)
{
	struct isolator_inbox_options options = ISOLATOR_INBOX_OPTIONS_INIT;
	struct state state = { 0 };
	pid_t children[SENSORS];
	uint64_t before;
	int fd;

	options.posters = SENSORS;
	fd = isolator_inbox_create(&options);
	check("isolator_inbox_create", fd);
	check("isolator_inbox_open", isolator_inbox_open(fd, 0, &state.inbox));
	isolator_inbox_register(state.inbox, READING, on_reading, &state);
	isolator_inbox_register(state.inbox, ISOLATOR_TYPE_GAP, on_gap, &state);
	for (unsigned int i = 0; i < SENSORS; i++)
		children[i] = start_sensor(fd, i, 1, i ? READINGS : UINT64_MAX / 2);

	while (state.last[0] < READINGS / 2)
		poll(&state);
	kill(children[0], SIGKILL);
	waitpid(children[0], NULL, 0);
	/* What it had posted is there: two polls that take nothing of its lane have seen all. */
	do {
		before = state.last[0];
		for (unsigned int i = 0; i <= SENSORS; i++)
			poll(&state);
	} while (state.last[0] != before);
	children[0] = start_sensor(fd, 0, before + 1, READINGS);
	while (state.last[0] < before + READINGS || state.last[1] < READINGS ||
	       state.last[2] < READINGS || state.last[3] < READINGS)
		poll(&state);
	for (unsigned int i = 0; i < SENSORS; i++)
		waitpid(children[i], NULL, 0);
	printf("%u sensors, %llu readings of the one that was killed, %llu wrong\n", SENSORS,
	       (unsigned long long)state.last[0], (unsigned long long)state.wrong);
	isolator_inbox_close(state.inbox);
	close(fd);
	return state.wrong != 0;
}

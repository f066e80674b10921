// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Questions and answers between two processes: the parent asks, the child answers from
 * its callback.  Either could be on an isolated CPU; neither makes a system call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <isolator.h>

enum { QUESTION = 1, ANSWER, GOODBYE };

#define QUESTIONS	100000U

struct question {
	uint64_t number;
	double value;
};

struct state {
	struct isolator_channel *channel;
	uint64_t answers;
	int over;
};

static void check(const char *call, int error)
{
	if (error < 0) {
		fprintf(stderr, "%s: %s\n", call, isolator_strerror(error));
		exit(1);
	}
}

/* The other side polls all the time: full does not last. */
static void post(struct isolator_channel *channel, unsigned int type, const void *data,
		 size_t length)
{
	int error;

	while ((error = isolator_post(channel, type, data, length)) == -EAGAIN)
		sched_yield();
	check("isolator_post", error);
}

static void on_question(void *context, unsigned int type, const void *data, size_t length)
{
	struct state *state = context;
	struct question answer = *(const struct question *)data;

	(void)type;
	if (length != sizeof(answer))
		return;
	answer.value *= answer.value;
	post(state->channel, ANSWER, &answer, sizeof(answer));
}

static void on_answer(void *context, unsigned int type, const void *data, size_t length)
{
	struct state *state = context;
	const struct question *answer = data;

	(void)type;
	if (length == sizeof(*answer) && answer->value == (double)(answer->number * answer->number))
		state->answers++;
}

static void on_goodbye(void *context, unsigned int type, const void *data, size_t length)
{
	struct state *state = context;

	(void)type, (void)data, (void)length;
	state->over = 1;
}

static void on_gap(void *context, unsigned int type, const void *data, size_t length)
{
	const struct isolator_gap *gap = data;

	(void)context, (void)type, (void)length;
	fprintf(stderr, "%llu slots lost\n", (unsigned long long)gap->slots);
	exit(1);
}

/* Each process opens its side for itself. */
static void open_side(struct state *state, int fd, unsigned int side)
{
	check("isolator_channel_open", isolator_channel_open(fd, side, &state->channel));
	isolator_channel_register(state->channel, QUESTION, on_question, state);
	isolator_channel_register(state->channel, ANSWER, on_answer, state);
	isolator_channel_register(state->channel, GOODBYE, on_goodbye, state);
	isolator_channel_register(state->channel, ISOLATOR_TYPE_GAP, on_gap, state);
}

static void poll(struct state *state)
{
	/* Without a CPU of our own: let the other one have this. */
	if (isolator_poll(state->channel, 16) == 0)
		sched_yield();
}

int main(void)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct isolator_channel_counters counters = ISOLATOR_CHANNEL_COUNTERS_INIT;
	struct state state = { 0 };
	int fd = isolator_channel_create(&options);
	int status = -1;
	pid_t child;

	check("isolator_channel_create", fd);
	child = fork();
	if (child == 0) {
		open_side(&state, fd, ISOLATOR_SIDE_B);
		while (!state.over)
			poll(&state);
		isolator_channel_close(state.channel);
		_exit(0);
	}
	open_side(&state, fd, ISOLATOR_SIDE_A);
	close(fd);
	for (uint64_t i = 0; i < QUESTIONS; i++) {
		struct question question = { .number = i, .value = (double)i };

		post(state.channel, QUESTION, &question, sizeof(question));
		isolator_poll(state.channel, 16);
	}
	while (state.answers < QUESTIONS)
		poll(&state);
	post(state.channel, GOODBYE, NULL, 0);
	waitpid(child, &status, 0);
	isolator_channel_stats(state.channel, &counters);
	printf("%llu asked, %llu answered, %llu times full\n",
	       (unsigned long long)counters.posted - 1, (unsigned long long)state.answers,
	       (unsigned long long)counters.full);
	isolator_channel_close(state.channel);
	return status;
}

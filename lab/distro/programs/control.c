// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * control: what a small controller does, again and again, without a system call: reads the
 * clock, takes a lock, filters samples, makes and drops messages.  SIGTERM ends it, SIGUSR1
 * is a wish for a report, which it counts.  It says when it is ready for them.  Built twice,
 * dynamic and static.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS	256
#define LARGEST	4096
#define SAMPLES	256

struct message {
	size_t size;
	unsigned char fill;
	unsigned char data[];
};

static volatile sig_atomic_t over, reports;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct message *messages[SLOTS];
static double state[2], level;
static uint64_t chance = 88172645463325252u;

static void on_signal(int signal)
{
	if (signal == SIGTERM)
		over = 1;
	else
		reports++;
}

static uint64_t draw(void)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return chance;
}

static void fail(const char *what)
{
	fprintf(stderr, "control: %s\n", what);
	exit(1);
}

static struct message *make(size_t size)
{
	struct message *message = malloc(sizeof(*message) + size);

	if (!message)
		fail("no memory");
	message->size = size;
	message->fill = (unsigned char)draw();
	memset(message->data, message->fill, size);
	return message;
}

/* What was written there is there still: nobody else had this memory. */
static void drop(struct message *message)
{
	for (size_t i = 0; i < message->size; i++)
		if (message->data[i] != message->fill)
			fail("a message has changed");
	free(message);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void filter(void)
{
	for (int i = 0; i < SAMPLES; i++) {
		double in = (double)(draw() % 1000) / 1000;

		state[0] += 0.1 * (in - state[0]);
		state[1] += 0.1 * (state[0] - state[1]);
	}
	level = state[1];
}

int main(void)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	double last = now(), time, longest = 0;
	uint64_t rounds = 0;

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	/* The largest first: the heap has its size then. */
	for (int i = 0; i < SLOTS; i++)
		messages[i] = make(LARGEST);
	puts("ready");
	fflush(stdout);
	while (!over) {
		struct message **slot = &messages[draw() % SLOTS];

		time = now();
		if (time < last)
			fail("time went backwards");
		if (rounds && time - last > longest)
			longest = time - last;
		last = time;
		pthread_mutex_lock(&lock);
		filter();
		drop(*slot);
		*slot = make(draw() % LARGEST);
		pthread_mutex_unlock(&lock);
		rounds++;
	}
	if (level < 0.2 || level > 0.8)
		fail("the filter went astray");
	printf("{\"rounds\": %llu, \"reports\": %d, \"longest_ms\": %.3f}\n",
	       (unsigned long long)rounds, (int)reports, longest * 1e3);
	return 0;
}

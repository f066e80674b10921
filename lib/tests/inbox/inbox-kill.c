// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Posters of an inbox are killed: one after each instruction of its post in turn, and several at
 * random moments while they all post.  The others go on, another poster takes the lane, and every
 * letter whose post returned comes once and in its order.
 */
#include <sys/prctl.h>

#include "check.h"
#include "inbox.h"
#include "../traced.h"

#define SLOTS		16U
#define STEPS_MAX	20000U
#define DEATHS		400U

/* Shared with the posters. */
static struct {
	volatile enum phase phase;
	/* The letter whose post has begun last, and the last whose post has returned. */
	volatile uint64_t begun[POSTERS], posted[POSTERS];
} *theirs;

struct start {
	int fd;
	unsigned int poster;
	uint64_t number;
};

/* The child whose post is counted in instructions. */
static void post_one(void *argument)
{
	const struct start *start = argument;
	struct isolator_channel *channel = inbox_join(start->fd, start->poster);

	raise(SIGSTOP);
	theirs->phase = INSIDE;
	letter_post(channel, start->poster, start->number);
	theirs->phase = AFTER;
	_exit(0);
}

/* All but @dead post, and are heard. */
static void others_go_on(struct ears *ears, struct isolator_channel **posters, unsigned int dead,
			 uint64_t number)
{
	for (unsigned int i = 0; i < POSTERS; i++)
		if (i != dead)
			CHECK_EQUAL(letter_post(posters[i], i, number), 0);
	isolator_inbox_poll(ears->inbox, 2 * POSTERS);
	for (unsigned int i = 0; i < POSTERS; i++)
		CHECK(i == dead || ears->last[i] == number);
}

/* Each step is an inbox of its own; the letter that is cut off is number @before + 1. */
static void kill_at_each_instruction(uint64_t before)
{
	unsigned int steps, whole = 0;
	bool done = false;

	for (steps = 0; !done && steps < STEPS_MAX && !check_failed; steps++) {
		struct isolator_channel *posters[POSTERS];
		unsigned int dead = steps % POSTERS;
		struct ears ears = { 0 };
		struct start start = { inbox_make(SLOTS), dead, before + 1 };
		uint64_t number;

		ears_open(&ears, start.fd);
		for (unsigned int i = 0; i < POSTERS; i++)
			posters[i] = inbox_join(start.fd, i);
		for (number = 1; number <= before; number++) {
			CHECK_EQUAL(letter_post(posters[dead], dead, number), 0);
			others_go_on(&ears, posters, dead, number);
		}
		isolator_channel_close(posters[dead]);
		traced_kill(post_one, &start, &theirs->phase, steps);
		done = theirs->phase == AFTER;
		others_go_on(&ears, posters, dead, before + 1);
		/* It came as a whole or not at all. */
		CHECK(ears.last[dead] == before || ears.last[dead] == before + 1);
		CHECK(!done || ears.last[dead] == before + 1);
		whole += ears.last[dead] == before + 1;
		posters[dead] = inbox_join(start.fd, dead);
		number = ears.last[dead];
		for (unsigned int i = 0; i < 3 * SLOTS; i++) {
			CHECK_EQUAL(letter_post(posters[dead], dead, ++number), 0);
			others_go_on(&ears, posters, dead, before + 2 + i);
			CHECK_EQUAL(ears.last[dead], number);
		}
		for (unsigned int i = 0; i < POSTERS; i++) {
			CHECK_EQUAL(ears.gaps[i], 0);
			isolator_channel_close(posters[i]);
		}
		isolator_inbox_close(ears.inbox);
		close(start.fd);
		if (check_failed)
			printf("# killed after %u instructions\n", steps);
	}
	/* It died on both sides of the moment from which the letter is there. */
	CHECK(done && steps > 30 && whole > 1 && whole < steps - 20);
	printf("# %u instructions, whole after %u of them\n", steps - 1, whole);
}

static void short_letter(void)
{
	kill_at_each_instruction(1);
}

static void long_letter(void)
{
	kill_at_each_instruction(3);
}

/* Once round the lane, and over its end. */
static void long_letter_later(void)
{
	kill_at_each_instruction(12);
}

/* The child of the other test: posts until it is killed. */
static pid_t post_on(int fd, unsigned int poster, uint64_t number)
{
	pid_t child = fork();

	if (child == 0) {
		struct isolator_channel *channel = inbox_join(fd, poster);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;; number++) {
			theirs->begun[poster] = number;
			while (letter_post(channel, poster, number) < 0)
				sched_yield();
			theirs->posted[poster] = number;
		}
	}
	CHECK(child > 0);
	return child;
}

/* Every letter of the @dead that it could post comes; what it had begun may. */
static void hear_the_rest(struct ears *ears, unsigned int dead)
{
	while (ears->last[dead] < theirs->posted[dead] && !check_failed)
		isolator_inbox_poll(ears->inbox, SLOTS);
	for (unsigned int i = 0; i < POSTERS; i++)
		isolator_inbox_poll(ears->inbox, SLOTS);
	CHECK(ears->last[dead] == theirs->posted[dead] || ears->last[dead] == theirs->begun[dead]);
}

static void deaths_at_random(void)
{
	struct ears ears = { 0 };
	int fd = inbox_make(SLOTS);
	pid_t children[POSTERS];
	unsigned int torn = 0;

	srand(1);
	memset(theirs, 0, sizeof(*theirs));
	ears_open(&ears, fd);
	for (unsigned int i = 0; i < POSTERS; i++)
		children[i] = post_on(fd, i, 1);
	for (unsigned int deaths = 0; deaths < DEATHS && !check_failed; deaths++) {
		unsigned int dead = (unsigned int)rand() % POSTERS;
		uint64_t until = ears.last[dead] + 1 + (unsigned int)rand() % 64;

		alarm(CHILD_PATIENCE_S);
		while (ears.last[dead] < until && !check_failed)
			if (isolator_inbox_poll(ears.inbox, 1 + (unsigned int)rand() % 8) == 0)
				sched_yield();
		kill(children[dead], SIGKILL);
		waitpid(children[dead], NULL, 0);
		torn += theirs->begun[dead] != theirs->posted[dead];
		hear_the_rest(&ears, dead);
		children[dead] = post_on(fd, dead, ears.last[dead] + 1);
	}
	for (unsigned int i = 0; i < POSTERS; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	for (unsigned int i = 0; i < POSTERS; i++) {
		hear_the_rest(&ears, i);
		CHECK_EQUAL(ears.gaps[i], 0);
		CHECK(ears.came[i] > 0);
	}
	CHECK(torn > 0);
	printf("# %u of %u died with a letter begun\n", torn, DEATHS);
	isolator_inbox_close(ears.inbox);
	close(fd);
}

static const struct test tests[] = {
	{ "a short letter, at each instruction", short_letter },
	{ "a letter of four slots, at each instruction", long_letter },
	{ "the same over the end of the lane", long_letter_later },
	{ "deaths while all post", deaths_at_random },
};

int main(void)
{
	if (!traced_allowed()) {
		printf("1..0 # SKIP ptrace is not allowed here\n");
		return 0;
	}
	theirs = mmap(NULL, sizeof(*theirs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (theirs == MAP_FAILED)
		return 1;
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

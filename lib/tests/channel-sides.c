// SPDX-License-Identifier: LGPL-2.1-or-later
/* The sides of a channel: opened again, held by one, given back by who is killed. */
#include "check.h"
#include "pair.h"

/* Close and open in the middle of a stream: the place is kept, nothing is lost. */
static void either_side_opens_again(void)
{
	unsigned int next = 0;
	struct pair pair;

	CHECK(pair_make(&pair, 16, 0));
	for (unsigned int i = 0; i < 200; i++) {
		CHECK_EQUAL(isolator_post(pair.a, 1, &i, sizeof(i)), 0);
		if (i % 7 == 3) {
			isolator_channel_close(pair.a);
			pair.a = pair_open(pair.fd, ISOLATOR_SIDE_A, &pair.at_a);
		}
		if (i % 5 == 2) {
			isolator_channel_close(pair.b);
			pair.b = pair_open(pair.fd, ISOLATOR_SIDE_B, &pair.at_b);
		}
		if (!pair.a || !pair.b || i % 3)
			continue;
		while (isolator_poll(pair.b, 1) == 1) {
			CHECK(memcmp(pair.at_b.data, &next, sizeof(next)) == 0);
			next++;
		}
	}
	while (isolator_poll(pair.b, 1) == 1)
		next++;
	CHECK_EQUAL(next, 200);
	CHECK_EQUAL(pair.at_b.gaps, 0);
	pair_drop(&pair);
}

/*
 * The receiver has taken more than it has said it released.  A poster that opens then and fills
 * the ring waits: nothing is written over.
 */
static void full_for_one_that_opens_again(void)
{
	unsigned int posted = 0, next = 0;
	struct pair pair;

	CHECK(pair_make(&pair, 64, 0));
	for (; posted < 5; posted++)
		CHECK_EQUAL(isolator_post(pair.a, 1, &posted, sizeof(posted)), 0);
	for (; next < 5; next++)
		CHECK_EQUAL(isolator_poll(pair.b, 1), 1);
	isolator_channel_close(pair.a);
	pair.a = pair_open(pair.fd, ISOLATOR_SIDE_A, &pair.at_a);
	for (; isolator_post(pair.a, 1, &posted, sizeof(posted)) == 0 && posted < 200; posted++)
		;
	CHECK_EQUAL(posted, 5 + 64);
	CHECK_EQUAL(isolator_post(pair.a, 1, &posted, sizeof(posted)), -EAGAIN);
	for (; isolator_poll(pair.b, 1) == 1; next++)
		CHECK(memcmp(pair.at_b.data, &next, sizeof(next)) == 0);
	CHECK_EQUAL(next, posted);
	CHECK_EQUAL(pair.at_b.gaps, 0);
	CHECK_EQUAL(pair_stats(pair.a).resyncs, 0);
	pair_drop(&pair);
}

static void a_side_has_one_holder(void)
{
	struct isolator_channel *second;
	struct pair pair;

	CHECK(pair_make(&pair, 16, 0));
	CHECK_EQUAL(isolator_channel_open(pair.fd, ISOLATOR_SIDE_A, &second), -EBUSY);
	CHECK(second == NULL);
	CHECK(strstr(isolator_strerror(EBUSY), "ISOLATOR_SIDE_TAKE") != NULL);
	CHECK_EQUAL(isolator_channel_open(pair.fd, ISOLATOR_SIDE_A | ISOLATOR_SIDE_TAKE, &second), 0);
	CHECK_EQUAL(isolator_channel_close(second), 0);
	CHECK_EQUAL(isolator_channel_open(pair.fd, 2, &second), -EINVAL);
	CHECK(strstr(isolator_strerror(EINVAL), "ISOLATOR_SIDE_B") != NULL);
	CHECK_EQUAL(isolator_channel_open(pair.fd, ISOLATOR_SIDE_A, NULL), -EINVAL);
	pair_drop(&pair);
	CHECK_EQUAL(isolator_channel_close(NULL), 0);
}

/* The descriptor may be closed at once, and a process that dies gives its side back. */
static void a_killed_holder_gives_its_side_back(void)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct isolator_channel *channel;
	int fd = isolator_channel_create(&options);
	int ready[2];
	pid_t child;
	char byte;

	CHECK(fd >= 0 && pipe(ready) == 0);
	child = fork();
	if (child == 0) {
		byte = isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel) == 0 ? 'y' : 'n';
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	CHECK_EQUAL(read(ready[0], &byte, 1), 1);
	CHECK_EQUAL(byte, 'y');
	CHECK_EQUAL(isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel), -EBUSY);
	kill(child, SIGKILL);
	CHECK_EQUAL(waitpid(child, NULL, 0), child);
	CHECK_EQUAL(isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel), 0);
	close(fd);
	CHECK_EQUAL(isolator_post(channel, 1, "x", 1), 0);
	isolator_channel_close(channel);
	close(ready[0]);
	close(ready[1]);
}

static const struct test tests[] = {
	{ "either side opens again and goes on", either_side_opens_again },
	{ "full for a poster that opens again", full_for_one_that_opens_again },
	{ "a side has one holder", a_side_has_one_holder },
	{ "a killed holder gives its side back", a_killed_holder_gives_its_side_back },
};

int main(void)
{
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

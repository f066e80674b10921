// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A stream of messages of all lengths from one side to the other: none is lost,
 * doubled, out of order or torn.   channel-stream threads|processes [MESSAGES]
 */
#include <sys/prctl.h>

#include "check.h"
#include "pair.h"

#define SLOTS		1024U
#define LONG_BYTES	512U
/* How many failed calls in a row until the CPU is given to somebody else. */
#define PATIENT		200U

static uint64_t messages = 1000000;
static bool in_threads;
static int fd;

/*
 * Beside the channel, in threads: plain memory that a message vouches for, written
 * before the post and read in the callback.  It is written again two rings later: the
 * last post has then found a slot free whose receiver had returned from this callback
 * before.  ThreadSanitizer sees whether the channel orders the one and the other.
 */
#define CELLS		(2 * SLOTS)
static uint64_t cells[CELLS];

static struct {
	uint64_t next;
	uint64_t wrong;
} heard;

/* Some have no payload: only the word orders what they vouch for. */
static size_t length_of(uint64_t number)
{
	if (number % 7 == 0)
		return 0;
	return number % 16 ? ISOLATOR_SLOT_BYTES - number % 5 * 8 : 64 + number / 16 % 56 * 8;
}

static void hear(void *context, unsigned int type, const void *data, size_t length)
{
	const uint64_t *words = data;
	uint64_t number = heard.next;

	(void)context;
	heard.next++;
	if (type == ISOLATOR_TYPE_GAP || length != length_of(number) ||
	    (in_threads && cells[number % CELLS] != number)) {
		heard.wrong++;
		return;
	}
	for (size_t i = 0; i < length / 8; i++)
		heard.wrong += words[i] != number + i;
}

static struct isolator_channel *open_side(unsigned int side)
{
	struct isolator_channel *channel;
	int error = isolator_channel_open(fd, side, &channel);

	if (error) {
		printf("# %s\n", isolator_strerror(error));
		exit(1);
	}
	isolator_channel_register(channel, 1, hear, NULL);
	isolator_channel_register(channel, ISOLATOR_TYPE_GAP, hear, NULL);
	return channel;
}

static void wait_a_little(unsigned int *failed)
{
	if (++*failed % PATIENT == 0)
		sched_yield();
}

static void *post_all(void *unused)
{
	struct isolator_channel *channel = open_side(ISOLATOR_SIDE_A);
	uint64_t words[LONG_BYTES / 8];
	unsigned int failed = 0;

	for (uint64_t number = 0; number < messages; number++) {
		size_t length = length_of(number);

		for (size_t i = 0; i < length / 8; i++)
			words[i] = number + i;
		if (in_threads)
			cells[number % CELLS] = number;
		while (isolator_post(channel, 1, words, length) < 0)
			wait_a_little(&failed);
	}
	isolator_channel_close(channel);
	return unused;
}

static void poll_all(void)
{
	struct isolator_channel *channel = open_side(ISOLATOR_SIDE_B);
	struct isolator_channel_counters counters;
	unsigned int failed = 0;

	while (heard.next < messages)
		if (isolator_poll(channel, 64) == 0)
			wait_a_little(&failed);
	counters = pair_stats(channel);
	CHECK_EQUAL(counters.received, messages);
	CHECK_EQUAL(counters.gaps, 0);
	CHECK_EQUAL(counters.invalid, 0);
	CHECK_EQUAL(counters.resyncs, 0);
	CHECK_EQUAL(isolator_poll(channel, 64), 0);
	isolator_channel_close(channel);
}

/*
 * Both sides at one address, so that ThreadSanitizer takes the memory for the same:
 * the second mapping is the first.
 */
static void *mapping;
static unsigned int mappings;
static pthread_mutex_t mapping_lock = PTHREAD_MUTEX_INITIALIZER;

static void *same_mmap(void *address, size_t length, int protection, int flags, int descriptor,
		       off_t offset)
{
	pthread_mutex_lock(&mapping_lock);
	if (!mappings++)
		mapping = mmap(address, length, protection, flags, descriptor, offset);
	pthread_mutex_unlock(&mapping_lock);
	return mapping;
}

static int same_munmap(void *address, size_t length)
{
	int result = 0;

	pthread_mutex_lock(&mapping_lock);
	if (!--mappings)
		result = munmap(address, length);
	pthread_mutex_unlock(&mapping_lock);
	return result;
}

static void stream(void)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	pthread_t thread;
	int status = -1;
	pid_t child;

	options.slots = SLOTS;
	fd = isolator_channel_create(&options);
	CHECK(fd >= 0);
	if (in_threads) {
		isolator_sys.mmap = same_mmap;
		isolator_sys.munmap = same_munmap;
		CHECK_EQUAL(pthread_create(&thread, NULL, post_all, NULL), 0);
		poll_all();
		CHECK_EQUAL(pthread_join(thread, NULL), 0);
	} else {
		child = fork();
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			post_all(NULL);
			_exit(0);
		}
		poll_all();
		CHECK_EQUAL(waitpid(child, &status, 0), child);
		CHECK_EQUAL(status, 0);
	}
	CHECK_EQUAL(heard.next, messages);
	CHECK_EQUAL(heard.wrong, 0);
	close(fd);
}

static const struct test tests[] = {
	{ "none lost, doubled, out of order or torn", stream },
};

int main(int argc, char **argv)
{
	in_threads = argc > 1 && strcmp(argv[1], "threads") == 0;
	if (argc > 2)
		messages = strtoull(argv[2], NULL, 0);
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

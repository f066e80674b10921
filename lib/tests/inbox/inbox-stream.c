// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Streams of eight posters at once: of each, none is lost, doubled, out of order or torn.
 *   inbox-stream threads|processes [LETTERS]
 */
#include <sys/prctl.h>
#include <sys/stat.h>

#include "check.h"
#include "inbox.h"

#define SLOTS	128U

static uint64_t letters = 100000;
static bool in_threads;
static int fd;
static struct ears ears;

/*
 * In threads, plain memory that a letter vouches for, as in channel-stream: written before the
 * post, and again two lanes later, when its callback has returned.
 */
#define CELLS	(2 * SLOTS)
static uint64_t cells[POSTERS][CELLS];

static void hear(void *context, unsigned int type, const void *data, size_t length)
{
	letter_hear(context, type, data, length);
	if (in_threads && type != ISOLATOR_TYPE_GAP) {
		const struct letter *letter = data;

		CHECK_EQUAL(cells[letter->poster][letter->number % CELLS], letter->number);
	}
}

static void *post_all(void *argument)
{
	unsigned int poster = (unsigned int)(uintptr_t)argument;
	struct isolator_channel *channel = inbox_join(fd, poster);

	for (uint64_t number = 1; number <= letters; number++) {
		if (in_threads)
			cells[poster][number % CELLS] = number;
		while (letter_post(channel, poster, number) < 0)
			sched_yield();
	}
	isolator_channel_close(channel);
	return NULL;
}

/* Receiver and posters at one address, so that ThreadSanitizer takes it for the same memory. */
static unsigned char *whole;

static void *same_mmap(void *address, size_t length, int protection, int flags, int descriptor,
		       off_t offset)
{
	(void)address, (void)length, (void)protection, (void)flags, (void)descriptor;
	return whole + offset;
}

static int same_munmap(void *address, size_t length)
{
	(void)address, (void)length;
	return 0;
}

static void map_whole(void)
{
	struct stat status;

	CHECK_EQUAL(fstat(fd, &status), 0);
	whole = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(whole != MAP_FAILED);
	isolator_sys.mmap = same_mmap;
	isolator_sys.munmap = same_munmap;
}

static void hear_all(void)
{
	uint64_t came = 0;

	while (came < POSTERS * letters) {
		int now = isolator_inbox_poll(ears.inbox, 64);

		CHECK(now >= 0);
		if (now <= 0)
			sched_yield();
		else
			came += (unsigned int)now;
	}
	CHECK_EQUAL(isolator_inbox_poll(ears.inbox, 64), 0);
	for (unsigned int i = 0; i < POSTERS; i++) {
		struct isolator_channel_counters counters = ISOLATOR_CHANNEL_COUNTERS_INIT;

		isolator_inbox_stats(ears.inbox, i, &counters);
		CHECK_EQUAL(counters.received, letters);
		CHECK_EQUAL(counters.gaps + counters.invalid + counters.resyncs, 0);
		CHECK_EQUAL(ears.last[i], letters);
	}
}

static void streams(void)
{
	pthread_t threads[POSTERS];
	pid_t children[POSTERS];

	fd = inbox_make(SLOTS);
	if (in_threads)
		map_whole();
	ears_open(&ears, fd);
	isolator_inbox_register(ears.inbox, 1, hear, &ears);
	for (uintptr_t i = 0; i < POSTERS; i++) {
		if (in_threads) {
			CHECK_EQUAL(pthread_create(&threads[i], NULL, post_all, (void *)i), 0);
			continue;
		}
		children[i] = fork();
		if (children[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			post_all((void *)i);
			_exit(check_failed);
		}
	}
	hear_all();
	for (unsigned int i = 0; i < POSTERS; i++) {
		int status = 0;

		if (in_threads)
			CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
		else
			CHECK_EQUAL(waitpid(children[i], &status, 0), children[i]);
		CHECK_EQUAL(status, 0);
	}
	isolator_inbox_close(ears.inbox);
	close(fd);
}

static const struct test tests[] = {
	{ "of each poster none lost, doubled, out of order or torn", streams },
};

int main(int argc, char **argv)
{
	in_threads = argc > 1 && strcmp(argv[1], "threads") == 0;
	if (argc > 2)
		letters = strtoull(argv[2], NULL, 0);
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

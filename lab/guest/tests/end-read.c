// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: end-read
 * cpus: 4
 * kernel: isolator
 * timeout: 180
 * about: who reads the time of all CPUs does not wait for one whose isolation ends meanwhile
 */
#include "../test.h"

enum { ROUNDS = 500, LEAST = 50, READERS = 3 };

#define ENOUGH	(90 * SEC)

struct reader {
	int cpu;
	_Atomic uint64_t reads;
};

static struct reader readers[READERS] = { { .cpu = 0 }, { .cpu = 2 }, { .cpu = 3 } };
static _Atomic bool over;

/* /proc/uptime asks each CPU how long it was idle. */
static void *reads(void *data)
{
	int fd = open("/proc/uptime", O_RDONLY);
	struct reader *r = data;
	char text[64];

	while (fd >= 0 && !iso_pin(r->cpu) && !over && pread(fd, text, sizeof(text), 0) > 0)
		r->reads++;
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* It sleeps amid it: the idle task has a state of its own from its boot, and none after that. */
static int one(void)
{
	struct iso iso;
	int error = iso_start(&iso, SEC, SEC / 10);

	if (error)
		return error;
	sleep_ms(1);	/* sleep: the CPU has to be idle once */
	error = iso_stop(&iso);
	iso_close(&iso);
	return error;
}

/* All have begun and ended a read since. */
static bool all_read(const uint64_t *since)
{
	for (int i = 0; i < READERS; i++)
		if (readers[i].reads < since[i] + 2)
			return false;
	return true;
}

int main(void)
{
	pthread_t threads[READERS];
	uint64_t since[READERS], start;
	int round, error = 0, rounds = ROUNDS / (int)guest_slower();
	bool went_on = true;

	iso_require(4);
	if (rounds < LEAST)
		rounds = LEAST;
	for (int i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, reads, &readers[i]))
			bail_out("no thread");
	if (iso_pin(1))
		bail_out("CPU 1");
	start = now_ns();
	/* A slow host makes fewer. */
	for (round = 0; round < rounds && went_on && !error; round++) {
		if (round >= LEAST && now_ns() - start > ENOUGH)
			break;
		error = one();
		for (int i = 0; i < READERS; i++)
			since[i] = readers[i].reads;
		/* No start meanwhile: it would give them what they wait for. */
		went_on = comes(all_read(since), 10000);
	}
	ok(!error, "isolated and ended %d times: %s", round, error ? strerror(-error) : "each");
	ok(went_on, "readers of /proc/uptime went on after each end");
	over = true;
	/* One that waits is given an end by another start. */
	if (!went_on)
		one();
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	return done_testing();
}

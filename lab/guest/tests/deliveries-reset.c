// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: deliveries-reset
 * cpus: 3
 * kernel: isolator
 * timeout: 120
 * about: who reads the list of deliveries as a start empties it reads none that never was
 */
#include "../test.h"

enum { ROUNDS = 150, MISSES = 4 };

static _Atomic uint64_t reads, empty;
static _Atomic bool over;

/* One that never was has no time. */
static void *reader(void *unused)
{
	(void)unused;
	iso_pin(2);
	while (!over) {
		empty += file_has("/proc/isolator/deliveries", " at_ns 0 ", NULL);
		reads++;
	}
	return NULL;
}

/* Fills the list with deadline misses of its own. */
static int one(void)
{
	struct iso iso;
	int error = iso_start(&iso, SEC, MS);

	for (int i = 0; i < MISSES && !error; i++)
		spin_ms(3);
	error = error ? error : iso_stop(&iso);
	iso_close(&iso);
	return error;
}

static void *asks(void *unused)
{
	(void)unused;
	iso_pin(0);
	while (!over)
		ask_flush();
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int error = 0, rounds;

	iso_require(3);
	if (pthread_create(&threads[0], NULL, reader, NULL) ||
	    pthread_create(&threads[1], NULL, asks, NULL) || iso_pin(1))
		bail_out("no threads");
	for (rounds = 0; rounds < ROUNDS && !error; rounds++)
		error = one();
	over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ok(!error && reads, "%d starts beside %lu reads: %s", rounds, reads, strerror(-error));
	ok(!empty, "a delivery that never was %lu times", empty);
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: clock-adjust
 * row: 118
 * class: queue
 * kind: program
 * notick: no
 * about: the clock's rate, its offset and the one from TAI are adjusted as a time daemon does
 */
#include <sys/timex.h>
#include "trigger.h"

enum { ROUNDS = 3, PPM = 65536 };

static struct timex look(void)
{
	struct timex tx = { 0 };

	need(adjtimex(&tx) >= 0);
	return tx;
}

static double wall(void)
{
	struct timespec real, mono;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	return (double)(real.tv_sec - mono.tv_sec) +
		(double)(real.tv_nsec - mono.tv_nsec) * 1e-9;
}

static void frequency(long value)
{
	struct timex tx = { .modes = ADJ_FREQUENCY, .freq = value };

	need(adjtimex(&tx) >= 0);
}

static void tai(int value)
{
	struct timex tx = { .modes = ADJ_TAI, .constant = value };

	need(adjtimex(&tx) >= 0);
}

static void shift(int seconds)
{
	struct timex tx = { .modes = ADJ_SETOFFSET, .time.tv_sec = seconds };

	need(adjtimex(&tx) >= 0);
}

int main(void)
{
	struct timex home = look();
	double before = wall();
	int seen = 0;

	for (int i = 0; i < ROUNDS; i++) {
		frequency(home.freq + 10 * PPM);
		seen += look().freq == home.freq + 10 * PPM;
		frequency(home.freq);
		seen += look().freq == home.freq;
		tai(home.tai + 1);
		seen += look().tai == home.tai + 1;
		tai(home.tai);
		seen += look().tai == home.tai;
		shift(10);
		seen += wall() - before > 9;
		shift(-10);
		seen += wall() - before < 1;
	}
	answer(seen == 6 * ROUNDS, "done", "%d of %d adjustments seen", seen, 6 * ROUNDS);
}

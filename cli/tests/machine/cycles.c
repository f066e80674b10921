// SPDX-License-Identifier: GPL-2.0-or-later
/* Two clocks read at once, by who is interrupted all the time. */
#include <math.h>
#include <signal.h>
#include <sys/time.h>

#include "base/array.h"
#include "base/wait.h"
#include "check.h"
#include "machine/cycles.h"

#define TRIES 200
#define APART_NS 2000000
#define AWAY_NS 300000	/* longer than 1 % of what the pairs are apart */

static void away(int signal)
{
	uint64_t from_ns = wait_clock_ns();

	(void)signal;
	while (wait_clock_ns() - from_ns < AWAY_NS)
		;
}

static double rate(uint64_t apart_ns)
{
	uint64_t from, from_ns, to, to_ns;

	cycles_pair(&from, &from_ns);
	while (wait_clock_ns() - from_ns < apart_ns)
		;
	cycles_pair(&to, &to_ns);
	return (double)(to - from) / (double)(to_ns - from_ns);
}

static void interrupted(void)
{
	const struct itimerval often = { { 0, 400 }, { 0, 400 } }, never = { 0 };
	double quiet = rate(UINT64_C(100000000));

	signal(SIGALRM, away);
	CHECK(!setitimer(ITIMER_REAL, &often, NULL));
	for (int i = 0; i < TRIES; i++) {
		double found = rate(APART_NS);

		CHECK(fabs(found / quiet - 1) < 0.01);
	}
	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
	signal(SIGALRM, SIG_DFL);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a pair is one moment, whatever comes between", interrupted },
	};

	return check_run(tests, ARRAY_SIZE(tests));
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Which clocks are read in user mode. */
#include <errno.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#include "base/array.h"
#include "check.h"
#include "machine/clock.h"

/* No vDSO has the processor time of a process. */
static void by_a_call(void)
{
	CHECK_EQUAL(clock_in_user_mode(CLOCK_PROCESS_CPUTIME_ID), 0);
}

/* A vDSO has the time of the last tick, whichever clock the machine has. */
static void in_user_mode(void)
{
	CHECK_EQUAL(clock_in_user_mode(CLOCK_MONOTONIC_COARSE),
		    getauxval(AT_SYSINFO_EHDR) ? 1 : 0);
}

static void unknown(void)
{
	CHECK_EQUAL(clock_in_user_mode((clockid_t)-1), -1);
}

static void no_child(void)
{
	CHECK_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQUAL(errno, ECHILD);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a clock that is read by a system call", by_a_call },
		{ "one that is read in user mode", in_user_mode },
		{ "one that is none", unknown },
		{ "no child is left", no_child },
	};

	return check_run(tests, ARRAY_SIZE(tests));
}

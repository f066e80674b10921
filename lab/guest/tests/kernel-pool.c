// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-pool
 * cpus: 2
 * kernel: isolator
 * timeout: 180
 * append: irqaffinity=0
 * about: a loop of the kernel takes objects of its own pool, others return them, lies are refused
 */
#include "traffic.h"

enum { PAIRS = 10000, OBJECTS = 64, CHURN = 20000, LIES = 100000 };

/* All in quiet sections, in which nothing can come to the CPU. */
static void pairs(void)
{
	unsigned long long done;
	long long before;

	ok(!order("pool 100 %d 0", OBJECTS), "a pool of %d objects", OBJECTS);
	before = interrupts_all(1);
	ok(!order("pairs %d", PAIRS), "pairs are asked for");
	/* Each order brings the counters up to date. */
	until(!order("hostile 0") && told("pool_frees") >= PAIRS);
	done = told("pool_frees");
	ok(told("pool_allocs") == PAIRS && done == PAIRS && !told("pool_empty"),
	   "%llu objects taken and %llu given back", told("pool_allocs"), done);
	ok(told("pool_free") == OBJECTS, "all are there again");
	/* What parks it for an order is one. */
	diag("%lld interrupts", interrupts_all(1) - before);
}

static void churn(unsigned int poison)
{
	unsigned int count = scaled(CHURN);

	ok(!order("pool 64 %d %u", OBJECTS, poison), "a pool%s", poison ? " with a pattern" : "");
	ok(!order("churn %u", count), "%u objects go to another CPU and come back", count);
	ok(told("pool_allocs") == told("pool_returned") + told("pool_frees"),
	   "%llu taken, %llu returned, %llu given back for want of room", told("pool_allocs"),
	   told("pool_returned"), told("pool_frees"));
	ok(told("pool_returned") == count && told("pool_collected") <= count &&
	   told("pool_collected") + OBJECTS >= count,
	   "%llu were collected", told("pool_collected"));
	ok(!told("pool_invalid") && !told("pool_doubled") && !told("pool_foreign") &&
	   !told("pool_overwritten"), "none in a way that was refused, none written to");
}

static void lies(void)
{
	unsigned long long allocs = told("pool_allocs"), returned = told("pool_returned");

	ok(!order("hostile %d", LIES), "%d calls by another, of each kind, are refused", LIES);
	ok(told("pool_foreign") == LIES + 1 && told("pool_invalid") == 2 * LIES,
	   "and counted: %llu foreign, %llu invalid", told("pool_foreign"), told("pool_invalid"));
	ok(told("pool_allocs") == allocs && told("pool_returned") == returned,
	   "and change nothing");
}

/* Its isolation is ended from outside: the thread answers still, and what it has stays. */
static void ended(void)
{
	ok(!put_file("/proc/isolator/cpus", "\n") &&
	   comes(caller_state(TRAFFIC) == -ECANCELED, 5000),
	   "the administrator takes the CPU: %d", caller_state(TRAFFIC));
	ok(order("nothing") == -ECANCELED, "an order is refused, and nobody waits for it");
	ok(order("hostile 1") == -ENODEV, "so is one to its pool");
	caller_stop(TRAFFIC, "admin");
}

int main(void)
{
	iso_require(2);
	caller_start(TRAFFIC);
	ok(order("pool 64 0 0") == -EINVAL, "a pool of nothing is refused");
	ok(order("pool 2147483648 1 0") == -E2BIG, "one too large is refused");
	pairs();
	churn(0);
	churn(1);
	lies();
	churn(1);
	ok(!caller_state(TRAFFIC) && caller_polls(TRAFFIC), "still isolated, still polling");
	caller_kept();
	ended();
	return done_testing();
}

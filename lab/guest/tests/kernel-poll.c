// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-poll
 * cpus: 2
 * kernel: isolator
 * timeout: 90
 * about: a kernel thread polls on an isolated CPU, does what is due at a tick, and goes
 */
#include "caller.h"
#include "residue.h"

/* Work of a kernel thread of each CPU: the caller is through when CPU 1 has ticked. */
static void work(int rounds)
{
	unsigned long long ticks = caller_get(SAMPLE, "ticks");
	int done = 0;

	if (!can_ask_kworker()) {
		diag("nothing asks each CPU's kworker here");
		return;
	}
	while (done < rounds && ask_kworker())
		done++;
	ok(done == rounds, "a kernel thread of each CPU has run %d of %d times", done, rounds);
	/* The last is counted after the thread that it was made for has run. */
	ok(comes(caller_get(SAMPLE, "ticks") - ticks >= (unsigned int)rounds, 5000),
	   "the loop has made %llu ticks for that", caller_get(SAMPLE, "ticks") - ticks);
}

int main(void)
{
	struct residue before, after;
	long long all;

	iso_require(2);
	look(&before, 1);
	caller_start(SAMPLE);
	all = interrupts_all(1);
	sleep_ms(2000);	/* sleep: nothing comes meanwhile */
	all = interrupts_all(1) - all;
	ok(caller_polls(SAMPLE) && !all, "%lld interrupts in 2 s", all);
	caller_put(SAMPLE, "doorbell", 7);
	ok(comes(caller_get(SAMPLE, "answers") == 7, 5000), "it answers the doorbell");
	work(5);
	ok(!caller_state(SAMPLE) && caller_polls(SAMPLE), "still isolated, still polling");
	caller_kept();
	caller_stop(SAMPLE, "stop");
	look(&after, 1);
	compare(&before, &after, "afterwards");
	return done_testing();
}

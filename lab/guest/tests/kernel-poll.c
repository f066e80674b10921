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

enum { QUIET_MS = 2000, FOR_A_LEAVE = 4 };

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

/* Where an interrupt could not be moved away the section is left once a second, as it may wait. */
static int leaves_most(void)
{
	unsigned int got;
	char text[4096], *line;

	if (get_file("/proc/isolator/status", text, sizeof(text)))
		bail_out("/proc/isolator/status");
	line = strstr(text, "cpu 1 isolated");
	if (!line || sscanf(line, "cpu 1 isolated mask %*x got %x", &got) != 1)
		bail_out("no CPU 1 in /proc/isolator/status");
	if (got & ISOLATOR_GOT_IRQS)
		return 0;
	diag("a device's interrupt could not be moved away");
	return (QUIET_MS / 1000 + 1) * FOR_A_LEAVE * (int)guest_slower();
}

int main(void)
{
	struct residue before, after;
	long long all;
	int most;

	iso_require(2);
	look(&before, 1);
	caller_start(SAMPLE);
	most = leaves_most();
	all = interrupts_all(1);
	sleep_ms(QUIET_MS);	/* sleep: nothing comes meanwhile */
	all = interrupts_all(1) - all;
	ok(caller_polls(SAMPLE) && all <= most, "%lld interrupts in 2 s, of at most %d", all, most);
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

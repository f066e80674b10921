// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: load-average
 * cpus: 2
 * kernel: isolator
 * timeout: 240
 * alone: yes
 * about: a task that is isolated and makes no tick counts in the load average
 */
#include "../test.h"

enum { RISES = 3, SAMPLES = 12, SAMPLE_MS = 5500 };

/* What the boot left falls by half in 42 s.  From LOW three samples add 0.03 or more each. */
enum { BOOT_SAMPLES = 24 };
#define LOW	0.5

static double load_average(void)
{
	char text[64];

	if (get_file("/proc/loadavg", text, sizeof(text)))
		bail_out("/proc/loadavg");
	return strtod(text, NULL);
}

/* Of an idle machine it falls; of one busy CPU it rises towards 1, each 5 s a little. */
int main(void)
{
	struct worker *w = worker_new(1);
	double before, now;
	int rises = 0;

	iso_require(2);
	before = load_average();
	for (int i = 0; i < BOOT_SAMPLES && before >= LOW; i++) {
		sleep_ms(SAMPLE_MS);	/* sleep: samples are 5 s apart */
		before = load_average();
		diag("%.2f is left of the boot's load", before);
	}
	if (!ok(before < LOW, "the boot's load falls below %.1f: %.2f", LOW, before))
		return done_testing();
	w->deadline_ns = 200 * SEC;
	w->life_s = 200;
	need_worker(worker_thread(w));
	before = load_average();
	for (int i = 0; i < SAMPLES && rises < RISES; i++) {
		sleep_ms(SAMPLE_MS);	/* sleep: samples are 5 s apart */
		now = load_average();
		diag("%.2f", now);
		rises += now > before + 0.02;
		before = now;
	}
	ok(rises == RISES, "it rises %d times: %.2f", rises, before);
	ok(!w->iso.page->ticks, "without a tick");
	worker_end(w);
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: keys
 * cpus: 2
 * kernel: isolator
 * timeout: 90
 * about: 50 starts and stops in a row put the hooks in once; they go out after the last
 */
#include "probe.h"

/* Two keys go on, one more at the first start ever; each change may take some steps. */
enum { ROUNDS = 50, MOST = 12 };

static bool start_stop(void)
{
	struct iso iso = { .fd = -1 };
	int error = iso_start(&iso, 0, 0);

	if (!error)
		error = iso_stop(&iso);
	iso_close(&iso);
	if (error)
		diag("start or stop: %s", strerror(-error));
	return !error;
}

int main(void)
{
	int done = 0;
	long before;

	iso_require(2);
	if (!probe_begin("p", KEYS_PROBE))
		bail_out("no probe at the patching of static keys");
	if (iso_pin(1))
		bail_out("cannot run on CPU 1");
	before = keys_switched();
	while (done < ROUNDS && start_stop())
		done++;
	ok(done == ROUNDS, "%d of %d starts and stops", done, ROUNDS);
	ok(keys_switched() - before <= MOST, "keys were switched %ld times, at most %d",
	   keys_switched() - before, MOST);
	before = keys_switched();
	ok(keys_go_off(before), "they go off after the last stop: %ld", keys_switched() - before);
	before = keys_switched();
	ok(start_stop() && keys_switched() > before, "and on again with the next start: %ld",
	   keys_switched() - before);
	probe_end("keys");
	return done_testing();
}

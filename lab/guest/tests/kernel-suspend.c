// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-suspend
 * cpus: 2
 * kernel: isolator
 * timeout: 90
 * alone: yes
 * about: a suspend ends the isolation of a loop of the kernel first, and then works
 */
#include "caller.h"

int main(void)
{
	char states[64];
	uint64_t begin;

	iso_require(2);
	if (get_file("/sys/power/state", states, sizeof(states)) || !strstr(states, "freeze"))
		bail_out("no suspend to idle in this kernel");
	if (put_file("/sys/power/pm_test", "devices"))
		bail_out("no pm_test in this kernel");
	caller_start(CALLER);
	begin = now_ns();
	ok(!put_file("/sys/power/state", "freeze"), "suspended and resumed in %lu ms",
	   (now_ns() - begin) / MS);
	ok(comes(caller_state(CALLER) == -ECANCELED, 5000), "the loop has been told");
	ok(caller_get(CALLER, "now_seen") >= 1, "it left its section at once");
	put_file("/sys/power/pm_test", "none");
	caller_stop(CALLER, "system");
	caller_start(CALLER);
	caller_stop(CALLER, "stop");
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-overdue
 * cpus: 2
 * kernel: isolator
 * timeout: 90
 * once: yes
 * about: a quiet section that breaks its promise is reported once a stay, with the place
 * dmesg: isolator: CPU 1 is overdue
 * dmesg: Call [Tt]race:
 * dmesg: a quiet section at .*which can be patched|WARNING: .*isolator_(quiet_enter|section_allowed)
 */
#include "caller.h"

#define OVERDUE	"isolator: CPU 1 is overdue"

enum { SHORT_MS = 20 };

/* What a loop that goes on does; @asks makes something due, and is waited for. */
static void overdue(enum caller_fault fault, bool (*asks)(void), const char *what)
{
	unsigned int said = 0;
	int log = kernel_log();
	unsigned long long missed = caller_missed();
	uint64_t begin = now_ns();

	caller_put(CALLER, "fault_ms", 20 * SHORT_MS);
	caller_put(CALLER, "fault", fault);
	ok(asks(), "%s: what waited was done after %lu ms", what, (now_ns() - begin) / MS);
	until(!caller_get(CALLER, "fault"));
	ok(comes((said += kernel_logged(log, OVERDUE)) > 0, 5000), "%s: it is reported", what);
	said += kernel_logged(log, OVERDUE);
	close(log);
	missed = caller_missed() - missed;
	/* What one bound is too short for may be missed by more than one. */
	ok(said == 1 && missed >= 1, "%s: once, with %llu deadline misses", what, missed);
}

/* An end from outside cannot interrupt it either. */
static bool ask_end(void)
{
	until(!caller_get(CALLER, "fault"));	/* it is deaf now */
	return !put_file("/proc/isolator/cpus", "\n") && !put_file("/proc/isolator/cpus", "1");
}

int main(void)
{
	int log = kernel_log();

	iso_require(2);
	caller_promise(CALLER, SHORT_MS);
	overdue(FAULT_LATE, ask_kworker, "a missed tick");
#ifdef __x86_64__
	ok(kernel_logged(log, "RIP: 0010:poll_quietly") == 1, "an NMI has shown where the loop is");
#endif
	close(log);
	overdue(FAULT_LATE, ask_kworker, "another");
	overdue(FAULT_DEAF, ask_end, "an end");
	ok(comes(caller_state(CALLER) == -ECANCELED, 5000), "it was ended");
	caller_stop(CALLER, "admin");
	caller_promise(CALLER, SHORT_MS);
	caller_put(CALLER, "fault", FAULT_PLACE);
	/* It leaves its section for that at the next tick. */
	ok(ask_kworker() && comes(caller_state(CALLER) == -EINVAL, 5000),
	   "a section in text that can be patched is refused");
	caller_stop(CALLER, "stop");
	return done_testing();
}

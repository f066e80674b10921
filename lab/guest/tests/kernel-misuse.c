// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-misuse
 * cpus: 2
 * kernel: isolator
 * timeout: 120
 * about: what code of the kernel calls in the wrong place, or too late, does no harm
 * dmesg: isolator: leave without a quiet section
 * dmesg: WARNING: .* isolator_quiet_leave\+|Call [Tt]race:
 */
#include "caller.h"

#define DEVICE	"/dev/" CALLER

/* As after an enter that failed: RCU must go on to see that nobody reads in a section. */
static void leave_alone(void)
{
	int log = kernel_log();

	caller_start(CALLER);
	caller_put(CALLER, "fault", FAULT_LEAVE);
	until(ask_kworker() && !caller_get(CALLER, "fault"));
	ok(kernel_logged(log, "leave without a quiet section") == 1,
	   "a leave without a section is reported");
	close(log);
	ok(caller_polls(CALLER) && grace_passes_by(5), "RCU still leaves the sections out");
	caller_stop(CALLER, "stop");
}

/*
 * A caller that a driver has kept, while its task has ended that isolation and begun another: the
 * old one's word is dead, so that no section may wait for it.
 */
static void stale(void)
{
	struct iso iso = { .fd = open("/dev/isolator", O_RDWR | O_CLOEXEC) };

	iso_pin(1);
	ok(!put_file(DEVICE, "begin"), "a driver isolates the CPU of its caller");
	ok(!put_file(DEVICE, "stay 1 0"), "who has a section there");
	ok(!iso_stop(&iso), "and ends that by itself");
	close(iso.fd);
	ok(!iso_start(&iso, 0, 0), "it begins by itself");
	ok(put_file(DEVICE, "stay 1 0") == -ECANCELED, "the driver's section is refused");
	ok(!put_file(DEVICE, "end"), "the driver ends what it began");
	ok(iso.page->end == ISOLATOR_END_NONE &&
	   file_has("/proc/isolator/status", "isolated 1\n", NULL),
	   "the task's own isolation goes on");
	ok(!iso_stop(&iso), "until its end");
	iso_close(&iso);
	iso_pin(0);
}

/* Who has begun it exits; the driver learns of that later, in another task. */
static void orphan(void)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(iso_pin(1) || put_file(DEVICE, "begin"));
	ok(waitpid(pid, &status, 0) == pid && !status, "a task has begun, and exits");
	ok(!put_file(DEVICE, "end"), "the driver ends that for it");
	iso_pin(1);
	ok(!put_file(DEVICE, "begin") && !put_file(DEVICE, "stay 1 0") &&
	   !put_file(DEVICE, "end"), "and can be asked again");
	iso_pin(0);
}

int main(void)
{
	iso_require(2);
	leave_alone();
	caller_load(CALLER, "cpu=-1 bound_us=100000");
	stale();
	orphan();
	ok(module_unload(CALLER), "it goes");
	return done_testing();
}

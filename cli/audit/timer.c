// SPDX-License-Identifier: GPL-2.0-or-later
/* Clocks, and the timers that the kernel arms by itself. */
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/array.h"
#include "base/text.h"
#include "machine/clock.h"

#define CLOCK "/sys/devices/system/clocksource/clocksource0"
#define MCE "/sys/devices/system/machinecheck/machinecheck0"
/* Not a file of any machine: the running one is asked by a read of its clock. */
#define USER_CLOCK "/proc/self/clock_in_user_mode"
#define PACKAGES_TRUSTED 4	/* the kernel's limit, since 6.8 */

/* Is @clock read through a port or a bus, by all CPUs in turn? */
static bool slow(const char *clock)
{
	static const char *const slow[] = {
		"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit",
	};

	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		if (!strcmp(clock, slow[i]))
			return true;
	return false;
}

static void find_slow_clock(struct audit *audit)
{
	const struct capture_file *current = audit_file(audit, CLOCK "/current_clocksource");
	const struct capture_file *others = audit_file(audit, CLOCK "/available_clocksource");
	struct audit_finding *finding;

	if (!current || !slow(current->value))
		return;
	finding = audit_find(audit, current->path, current->value);
	if (others && text_has_word(others->value, "tsc"))
		audit_set(finding, SETTING_TEXT, "tsc");
	else
		audit_advise(finding, REMEDY_BOOT,
			     "read in the kernel log why it left the TSC; only if that was a false alarm, boot with tsc=reliable",
			     "boot without tsc=reliable");
}

/* Reads the running machine's clock, and has the capture say how that went. */
static void read_clock(struct audit *audit)
{
	int in_user_mode;

	if (audit->capture->kind != CAPTURE_LIVE || capture_find(audit->capture, USER_CLOCK))
		return;
	in_user_mode = clock_in_user_mode(CLOCK_MONOTONIC);
	if (in_user_mode >= 0)
		capture_fill_number(capture_add(audit->capture, USER_CLOCK), (uint64_t)in_user_mode);
}

static void find_clock_calls(struct audit *audit)
{
	const struct capture_file *current = audit_file(audit, CLOCK "/current_clocksource"), *file;
	int64_t in_user_mode;

	/* That a slow one has no other way is another finding. */
	if (current && slow(current->value))
		return;
	read_clock(audit);
	file = audit_number(audit, &in_user_mode, USER_CLOCK);
	if (file && !in_user_mode)
		audit_advise(audit_find(audit, file->path, file->value), REMEDY_NONE,
			     "boot without vdso=0; on arm64 an erratum of the timer may be why: the kernel log has \"Enabling ... workaround\", and a program may read the clock less often, or use a board without it",
			     "");
}

/* Of arm64: without it, nothing but an interrupt or a store ends a WFE. */
static void find_no_event_stream(struct audit *audit)
{
	const struct capture_file *cpuinfo = audit_file(audit, "/proc/cpuinfo");

	if (!cpuinfo || !strstr(cpuinfo->value, "\nFeatures") || audit_flag(audit, "evtstrm"))
		return;
	audit_advise(audit_find(audit, cpuinfo->path, "no evtstrm"), REMEDY_BOOT,
		     "boot without clocksource.arm_arch_timer.evtstrm=off, with a kernel that has CONFIG_ARM_ARCH_TIMER_EVTSTREAM",
		     "");
}

/* How many sockets the online CPUs are in; 0: unknown. */
static int packages(struct audit *audit)
{
	struct cpulist seen = { 0 };
	int64_t id;
	int count = 0;

	for (int cpu = -1; (cpu = cpulist_next(&audit->online, cpu)) >= 0;) {
		if (!audit_number(audit, &id,
				  "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu))
			return 0;
		if (id < 0 || id >= CPULIST_MAX || (seen.given && cpulist_has(&seen, (int)id)))
			continue;
		cpulist_add(&seen, (int)id);
		count++;
	}
	return count;
}

/* Is there a TSC, and does the kernel look after it? */
static bool doubted(struct audit *audit)
{
	return audit_flag(audit, "tsc") && !audit_flag(audit, "tsc_reliable") &&
		!audit_booted(audit, "tsc", "reliable");
}

static void find_watched_clock(struct audit *audit)
{
	const struct capture_file *others = audit_file(audit, CLOCK "/available_clocksource");

	if (!others || !text_has_word(others->value, "tsc") || !doubted(audit) ||
	    audit_booted(audit, "tsc", "nowatchdog"))
		return;
	if (audit_flag(audit, "constant_tsc") && audit_flag(audit, "nonstop_tsc") &&
	    audit_flag(audit, "tsc_adjust") && packages(audit) <= PACKAGES_TRUSTED)
		return;
	audit_boot_with(audit_find(audit, others->path, others->value), "tsc=reliable");
}

static void find_clock_rounds(struct audit *audit)
{
	const struct capture_file *file = audit_file(audit, "/proc/cmdline");

	if (file && audit_flag(audit, "tsc_adjust") && doubted(audit))
		audit_boot_with(audit_find(audit, file->path, file->value), "tsc=reliable");
}

static void find_bank_polling(struct audit *audit)
{
	int64_t seconds;
	const struct capture_file *file = audit_number(audit, &seconds, MCE "/check_interval");

	if (!file || !seconds || audit_booted(audit, "mce", "ignore_ce") ||
	    audit_booted(audit, "mce", "off"))
		return;
	audit_set(audit_find(audit, file->path, file->value), SETTING_TEXT, "0");
}

static void find_resting_timers(struct audit *audit)
{
	int64_t on;
	const struct capture_file *file = audit_number(audit, &on,
						       "/proc/sys/kernel/timer_migration");

	if (file && !on)
		audit_set(audit_find(audit, file->path, file->value), SETTING_TEXT, "1");
}

static const struct audit_check checks[] = {
	{ "timer.clocksource", AUDIT_ERROR, false,
	  "the kernel does not use the TSC as its clock: each read of this clock is a slow system call, and the tick may never stop",
	  find_slow_clock },
	{ "timer.clock-calls", AUDIT_WARNING, false,
	  "programs cannot read the clock in user mode: each read is a system call, so an isolated program enters the kernel by itself",
	  find_clock_calls },
	{ "timer.event-stream", AUDIT_INFO, false,
	  "a program that waits with WFE for a value may wait long on a CPU that nothing interrupts: no event stream of the timer ends its wait",
	  find_no_event_stream },
	{ "timer.clock-watchdog", AUDIT_WARNING, true,
	  "the kernel does not trust the TSC: a timer that checks it visits all CPUs twice a second; if the check fails, all CPUs stop for the change of clock",
	  find_watched_clock },
	{ "timer.clock-rounds", AUDIT_WARNING, true,
	  "every ten minutes a timer visits the next CPU and checks its TSC; tsc=nowatchdog does not stop it",
	  find_clock_rounds },
	{ "timer.machine-check", AUDIT_WARNING, true,
	  "a timer on each CPU looks for corrected hardware errors at this interval, in seconds",
	  find_bank_polling },
	{ "timer.migration", AUDIT_WARNING, true,
	  "timers stay on the CPU that armed them instead of moving to another",
	  find_resting_timers },
	{ 0 },
};

const struct audit_group audit_timer = { "Clocks and timers", checks };

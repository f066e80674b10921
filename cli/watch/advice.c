// SPDX-License-Identifier: GPL-2.0-or-later
/* What helps against interrupts that no affinity moves, and against softirqs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "watch/route.h"

#define CPU "/sys/devices/system/cpu"

#define SHIELD(what) REMEDY_COMMAND, "isolator shield set --" what " CPUS", \
	"isolator shield clear --" what " CPUS", NULL, NULL
#define BOOT(parameter) REMEDY_BOOT, "boot with " parameter, "boot without " parameter
#define WORDS(words) REMEDY_NONE, words, NULL, NULL, NULL

#define TICKLESS "the tick already stops there, but only while a single task runs and arms no timer" MORE
#define UNBALANCED "the scheduler already moves no tasks there; the rest comes from the tick" MORE
#define OFFLOADED "another CPU already frees that memory; the rest is how RCU tracks this CPU" MORE
#define MORE "; isolator audit -c CPUS lists other causes, isolator prove -c CPUS counts what comes"

/* In these texts CPUS stands for the guarded CPUs. */
struct advice {
	const char *name;	/* a class, or a softirq */
	const char *why;
	enum audit_remedy remedy;
	const char *fix, *undo;
	const char *parameter;	/* of the kernel's command line, which the fix is to set */
	const char *left;	/* what to say where it is set already */
};

static const struct advice of_classes[] = {
	{ "timer", "each CPU has a timer for its tick and for programs that sleep there",
	  BOOT("nohz_full=CPUS"), "nohz_full", TICKLESS },
	{ "resched", "another CPU wakes or moves a task there", SHIELD("processes") },
	{ "call", "another CPU makes it run a function: to patch kernel code, for membarrier(), to read counters and registers",
	  WORDS("stop what causes it: isolator audit -c CPUS (kernel, memory and trace)") },
	{ "tlb", "a program or the kernel unmaps or protects memory that is in use there",
	  WORDS("lock and touch the program's memory at its start, and unmap none later: isolator audit -c CPUS (memory)") },
	{ "work", "the kernel deferred work there, often for tracing or RCU",
	  WORDS("isolator audit -c CPUS (trace, boot.rcu-nocbs)") },
	{ "nmi", "a program counts events there (perf), or asks for the stack of the CPU",
	  WORDS("stop the program that counts; the kernel log names who asks for stacks") },
	{ "machine-check", "the hardware reports heat or errors there",
	  WORDS("read the kernel log (journalctl -k) and check the cooling") },
	{ "other", "no affinity moves this interrupt", WORDS("isolator audit -c CPUS") },
};

static const struct advice of_softirqs[] = {
	{ "TIMER", "timers that were armed there expire", BOOT("nohz_full=CPUS"),
	  "nohz_full", TICKLESS },
	{ "HRTIMER", "timers that were armed there expire", BOOT("nohz_full=CPUS"),
	  "nohz_full", TICKLESS },
	{ "SCHED", "the scheduler balances tasks from the tick there",
	  BOOT("isolcpus=domain,CPUS"), "isolcpus", UNBALANCED },
	{ "RCU", "RCU frees memory there",
	  BOOT("rcu_nocbs=CPUS"), "rcu_nocbs", OFFLOADED },
	{ "NET_RX", "packets are handled where their interrupt arrives, or where rps_cpus passes them on",
	  SHIELD("interrupts") },
	{ "NET_TX", "packets are sent there, or their interrupt arrives there",
	  SHIELD("interrupts") },
	{ "BLOCK", "a disk request ends on the CPU that made it, or where its interrupt arrives",
	  SHIELD("processes") },
	{ "TASKLET", "a driver's work runs where its interrupt arrives", SHIELD("interrupts") },
	{ "HI", "a driver's work runs where its interrupt arrives", SHIELD("interrupts") },
	{ "IRQ_POLL", "a driver's work runs where its interrupt arrives", SHIELD("interrupts") },
};

/* @text with the guarded CPUs in it; NULL for NULL. */
static char *fill(const struct router *router, const char *text)
{
	size_t size;
	char *filled;
	FILE *out;

	if (!text)
		return NULL;
	out = text_open(&filled, &size);
	for (const char *at; (at = strstr(text, "CPUS")); text = at + strlen("CPUS"))
		fprintf(out, "%.*s%s", (int)(at - text), text, router->guarded);
	fputs(text, out);
	fclose(out);
	return filled;
}

static void give(const struct router *router, struct route *route, enum audit_remedy remedy,
		 const char *fix, const char *undo)
{
	route->remedy = remedy;
	free(route->fix);
	free(route->undo);
	route->fix = fill(router, fix);
	route->undo = fill(router, undo);
}

/* The file @path holds what makes it come, and @wanted ends that; false: it does not. */
static bool set_file(const struct router *router, struct route *route, const char *path,
		     const char *wanted)
{
	const struct capture_file *file = capture_read(router->audit.capture, path);

	if (file->error || !strcmp(file->value, wanted))
		return false;
	route->remedy = REMEDY_WRITE;
	free(route->fix);
	free(route->undo);
	route->fix = setting_command(path, wanted);
	route->undo = setting_command(path, file->value);
	return true;
}

/* Settings that make some of them come. */
static bool advise_setting(const struct router *router, const struct interrupt *row,
			   struct route *route)
{
	static const struct {
		const char *label, *path, *wanted;
	} settings[] = {
		{ "NMI", "/proc/sys/kernel/nmi_watchdog", "0" },
		{ "PMI", "/proc/sys/kernel/nmi_watchdog", "0" },
		{ "MCP", "/sys/devices/system/machinecheck/machinecheck0/check_interval", "0" },
		{ "TIMER", "/proc/sys/kernel/timer_migration", "1" },
		{ "HRTIMER", "/proc/sys/kernel/timer_migration", "1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (!strcmp(row->label, settings[i].label) &&
		    set_file(router, route, settings[i].path, settings[i].wanted))
			return true;
	return false;
}

/* Has the kernel no tick that stops?  The file beside it is on any machine. */
static bool always_ticks(struct capture *capture)
{
	return capture_read(capture, CPU "/nohz_full")->error == ENOENT &&
		!capture_read(capture, CPU "/isolated")->error;
}

/* A boot parameter, unless it is there, or the kernel does not know it. */
static void advise_boot(const struct router *router, const struct advice *advice,
			struct route *route)
{
	const struct guard *guard = router->guard;
	struct cpulist have = { .given = true }, lack = guard->cpus;

	guard_parameter(&have, router->audit.capture, advice->parameter);
	cpulist_minus(&lack, &have);
	/* A partition does what isolcpus does, and nohz_full brings the others along. */
	if (!strcmp(advice->parameter, "isolcpus")) {
		cpulist_minus(&lack, &guard->of[GUARD_ISOLCPUS]);
		cpulist_minus(&lack, &guard->of[GUARD_PARTITION]);
	} else {
		cpulist_minus(&lack, &guard->of[GUARD_NOHZ_FULL]);
	}
	if (cpulist_empty(&lack))
		give(router, route, REMEDY_NONE, advice->left, NULL);
	else if (!strcmp(advice->parameter, "nohz_full") && always_ticks(router->audit.capture))
		give(router, route, REMEDY_NONE, "boot a kernel with CONFIG_NO_HZ_FULL=y",
		     "boot the present kernel");
	else
		give(router, route, advice->remedy, advice->fix, cpulist_empty(&have) ?
		     advice->undo : "boot with the present parameters");
}

/* Isolator keeps them away from a task that is isolated, and says who wanted it. */
static bool is_covered(const char *class)
{
	static const char *const covered[] = { "timer", "resched", "call", "tlb", "work" };

	for (size_t i = 0; i < ARRAY_SIZE(covered); i++)
		if (!strcmp(class, covered[i]))
			return true;
	return false;
}

void advise(const struct router *router, enum look_list which, const struct interrupt *row,
	    struct route *route)
{
	const struct advice *list = which == LOOK_SOFTIRQS ? of_softirqs : of_classes;
	size_t count = which == LOOK_SOFTIRQS ? ARRAY_SIZE(of_softirqs) : ARRAY_SIZE(of_classes);
	const char *name = which == LOOK_SOFTIRQS ? row->label : row->class;
	const struct advice *found = NULL;
	const struct guard *guard = router->guard;

	for (size_t i = 0; i < count && !found; i++)
		if (!strcmp(list[i].name, name))
			found = &list[i];
	route->why = text_format("%s", found ? found->why : "this command does not know this one");
	if (advise_setting(router, row, route))
		return;
	if (which == LOOK_INTERRUPTS && router->audit.isolator && is_covered(row->class)) {
		if (cpulist_common(&guard->cpus, &guard->of[GUARD_ISOLATED]))
			give(router, route, REMEDY_NONE,
			     "isolator why names what asks for the isolated CPUs", NULL);
		else
			give(router, route, REMEDY_COMMAND, "isolator run -c CPUS -- PROGRAM",
			     "it undoes everything when PROGRAM ends");
	} else if (found && found->parameter) {
		advise_boot(router, found, route);
	} else if (found) {
		give(router, route, found->remedy, found->fix, found->undo);
	} else {
		give(router, route, REMEDY_NONE, "isolator audit -c CPUS", NULL);
	}
}

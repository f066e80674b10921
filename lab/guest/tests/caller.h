/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code of the kernel that isolates CPU 1 and polls there: the sample module (isolator_poll), or
 * the lab's own, which has marks for the observer and breaks a rule on request (lab_caller).
 */
#ifndef LAB_CALLER_H
#define LAB_CALLER_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "../modules.h"
#include "../test.h"
#include "counted.h"
#include "grace.h"
#include "kernel_log.h"

#define SAMPLE	"isolator_poll"
#define CALLER	"lab_caller"

/* What its loops promise: as much as may be.  A busy host lets a CPU stand for most of it. */
#define BOUND_MS	1000

/* What lab_caller's parameter fault takes. */
enum caller_fault { FAULT_LOCK = 1, FAULT_PRINTK, FAULT_RCU, FAULT_CALL, FAULT_SLEEP, FAULT_DEAF,
		    FAULT_OOPS, FAULT_LATE, FAULT_PLACE, FAULT_SLOW, FAULT_LEAVE };

/* A parameter of the module's; ends the test where it has none. */
static inline unsigned long long caller_get(const char *module, const char *name)
{
	char path[128], text[64];

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module, name);
	if (get_file(path, text, sizeof(text)))
		bail_out(path);
	return strtoull(text, NULL, 10);
}

static inline void caller_put(const char *module, const char *name, unsigned int value)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module, name);
	snprintf(text, sizeof(text), "%u", value);
	if (put_file(path, text))
		bail_out(path);
}

/* 0: its thread's CPU is isolated; else a negative error. */
static inline int caller_state(const char *module)
{
	return (int)(long long)caller_get(module, "started");
}

/* The loop goes on. */
static inline bool caller_polls(const char *module)
{
	unsigned long long rounds = caller_get(module, "rounds");

	return comes(caller_get(module, "rounds") > rounds + 1000, 10000);
}

static inline void caller_load(const char *module, const char *arguments)
{
	char command[128];

	snprintf(command, sizeof(command), "%s %s", module, arguments);
	module_load(command);
	if (!module_loaded(module))
		bail_out("no such module: isolator_poll and lab_caller come with kernel/build");
}

/* Its thread isolates CPU 1 and promises @bound_ms: ends the test where it does not. */
static inline void caller_promise(const char *module, unsigned int bound_ms)
{
	char arguments[64];

	snprintf(arguments, sizeof(arguments), "cpu=1 bound_us=%u", bound_ms * 1000);
	caller_load(module, arguments);
	until(caller_state(module) != -EINPROGRESS);
	if (!ok(!caller_state(module) && caller_polls(module),
		"%s has isolated CPU 1 and polls: %d", module, caller_state(module)))
		bail_out(module);
}

static inline void caller_start(const char *module)
{
	caller_promise(module, BOUND_MS);
}

/* Where its section is: for judge/sections.py. */
static inline void caller_section(void)
{
	printf("# section %llu %llu\n", caller_get(CALLER, "section_begin"),
	       caller_get(CALLER, "section_size"));
}

/* It goes, and how its isolation ended stands in status. */
static inline void caller_stop(const char *module, const char *end)
{
	char line[64];

	ok(module_unload(module), "%s goes", module);
	snprintf(line, sizeof(line), "cpu 1 ended %s", end);
	ok(file_has("/proc/isolator/status", line, NULL), "status says %s", line);
}

/* How many deadline misses CPU 1 has counted since its last start. */
static inline unsigned long long caller_missed(void)
{
	return counted("cpu 1 total", " missed ");
}

/* A grace period needs nothing of a section, which goes on: true, in one of so many tries. */
static inline bool grace_passes_by(int tries)
{
	bool passes = false;

	for (int i = 0; i < tries && !passes; i++) {
		unsigned long long stays = caller_get(CALLER, "stays");

		if (!grace_period())
			bail_out("no grace period");
		passes = caller_get(CALLER, "stays") == stays;
	}
	return passes;
}

static inline void caller_kept(void)
{
	if (!ok(!caller_missed(), "no deadline miss"))
		show_deliveries();
}

#endif

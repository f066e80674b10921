// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-triggers
 * cpus: 2
 * kernel: isolator
 * timeout: 300
 * once: yes
 * alone: yes
 * section: quiet
 * about: a while (WINDOW_S) in a loop of the kernel as triggers run: each returns, nothing else runs there
 */
#include <linux/membarrier.h>
#include "caller.h"

enum { LEAST_S = 20 };

/* Programs of lab/triggers, each with what it says of itself. */
static const char *const triggers[] = {
	"static-keys", "rcu-flavours", "module-load", "vmalloc-churn", "kprobe", "stat-refresh",
#ifdef __x86_64__
	/* A device's interrupt is aimed at the section, and awaited: it has to be left for that. */
	"irq-move",
#endif
};

#define TRIGGERS	(sizeof(triggers) / sizeof(*triggers))

static _Atomic bool over;
static _Atomic uint64_t periods, longest;

/* Grace periods, one after another. */
static void *grace(void *unused)
{
	(void)unused;
	while (!over) {
		uint64_t begin = now_ns(), took;

		if (!grace_period())
			break;
		took = now_ns() - begin;
		if (took > longest)
			longest = took;
		periods++;
	}
	return NULL;
}

static bool barriers(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) &&
	       !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) &&
	       !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

static bool run(const char *name)
{
	char command[128], line[512] = "";
	uint64_t begin = now_ns();
	bool worked;
	FILE *f;

	snprintf(command, sizeof(command), "/lab/triggers/%s 2>&1", name);
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f))
		;
	if (f)
		pclose(f);
	worked = strstr(line, "\"worked\":true");
	if (strstr(line, "missing: ")) {
		diag("%s: %s", name, line);
		return true;
	}
	if (!worked)
		diag("%s after %lu ms: %s", name, (now_ns() - begin) / MS, line);
	return worked;
}

int main(void)
{
	const char *window = getenv("WINDOW_S");
	unsigned int seconds = window ? (unsigned int)atoi(window) : LEAST_S;
	unsigned int rounds = 0, failed = 0;
	unsigned long long ticks, stays;
	pthread_t thread;
	uint64_t begin;
	long long all;

	iso_require(2);
	caller_start(CALLER);
	caller_section();
	ticks = caller_get(CALLER, "ticks");
	all = interrupts_all(1);
	if (pthread_create(&thread, NULL, grace, NULL))
		bail_out("no thread");
	begin = now_ns();
	while (!rounds || now_ns() - begin < seconds * SEC) {
		for (size_t i = 0; i < TRIGGERS; i++)
			failed += !run(triggers[i]);
		failed += !barriers();
		failed += can_ask_kworker() && !ask_kworker();
		rounds++;
	}
	over = true;
	pthread_join(thread, NULL);
	ok(!failed, "%u rounds of %zu triggers: %u did not do what they should", rounds,
	   TRIGGERS + 2, failed);
	stays = caller_get(CALLER, "stays");
	ticks = caller_get(CALLER, "ticks") - ticks;
	diag("%llu ticks, %llu stays, %lld interrupts taken at ticks", ticks, stays,
	     interrupts_all(1) - all);
	ok(ticks > rounds, "what was queued was taken at %llu ticks", ticks);
	ok(periods > seconds && longest < 5 * SEC, "%lu grace periods, the longest %lu ms", periods,
	   longest / MS);
	ok(!caller_state(CALLER) && caller_polls(CALLER), "still isolated, still polling");
	caller_kept();
	caller_stop(CALLER, "stop");
	return done_testing();
}

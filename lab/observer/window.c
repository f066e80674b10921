// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "window.h"

struct window win;
bool win_open;
struct entry entry_log[MAX_LOG];

struct second second;

/* How long the observed vCPU ran, was idle, or stood still as it was asked to.  In its thread. */
static uint64_t own_ns(void)
{
	struct timespec ran;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
	return (uint64_t)ran.tv_sec * 1000000000u + (uint64_t)ran.tv_nsec + cpu.idle_ns +
		cpu.held_ns;
}

/* The rest: the host or the emulator took it.  In its thread. */
static int64_t taken_ns(void)
{
	return (int64_t)(now_ns() - own_ns());
}

/* So often it is looked how long the vCPU stood still. */
#define LOOK_EVERY_NS	10000000u

static struct {
	uint64_t at_ns;
	int64_t taken_ns;
	int64_t before_ns;	/* what had been taken since the one before it */
} last_look;

/* What a tick does in the kernel is the vCPU's own time. */
static void look_for_standstill(uint64_t now)
{
	int64_t before = last_look.taken_ns;

	if (now < last_look.at_ns + LOOK_EVERY_NS)
		return;
	last_look.at_ns = now;
	last_look.taken_ns = taken_ns();
	last_look.before_ns = last_look.taken_ns - before;
	if (last_look.before_ns > win.stood_still_ns)
		win.stood_still_ns = last_look.before_ns;
}

/* A request is delivered; there may have been a look between a standstill and that. */
void note_delivery(void)
{
	int64_t stood_ns = taken_ns() - last_look.taken_ns;

	if (now_ns() < last_look.at_ns + LOOK_EVERY_NS)
		stood_ns += last_look.before_ns;
	if (!win.deliveries++ || stood_ns < win.delivered_after_ns)
		win.delivered_after_ns = stood_ns;
}

void second_restart(void)
{
	second.begin_ns = now_ns();
	second.begin_own_ns = own_ns();
	second.user = 0;
	win.seconds = 0;
}

void look_at_clock(void)
{
	uint64_t now = now_ns(), own;

	look_for_standstill(now);
	/* The vCPU's own time, which runs no faster, takes a system call of the host. */
	if (now < second.begin_ns + 1000000000u)
		return;
	own = own_ns();
	if (own < second.begin_own_ns + 1000000000u)
		return;
	/* More than one second passed: the vCPU stood still for a whole one. */
	if (own >= second.begin_own_ns + 2000000000u)
		second.user = 0;
	if (!win.seconds || second.user < win.second_min)
		win.second_min = second.user;
	win.seconds++;
	second.user = 0;
	second.begin_ns = now;
	second.begin_own_ns = own;
}

static void write_window(void)
{
	FILE *f = conf.out;
	uint64_t now = now_ns();
	unsigned int i;

	fprintf(f, "{\"schema\": \"isolator.observer.window\", \"version\": 1, \"window\": %" PRIu32
		", \"vcpu\": %d, \"closed\": true, \"seconds\": %.6f",
		win.id, atomic_load(&target), (double)(now - win.begin_ns) / 1e9);
	fprintf(f, ", \"kernel_entries\": %" PRIu64 ", \"tick_entries\": %" PRIu64
		", \"probe_entries\": %" PRIu64 ", \"zero_instruction_entries\": %" PRIu64,
		win.entries, win.tick_entries, win.probe_entries,
		win.zero_insn_entries);
	fprintf(f, ", \"kernel_instructions\": %" PRIu64
		", \"tick_kernel_instructions\": %" PRIu64
		", \"tick_kernel_instructions_max\": %" PRIu64
		", \"user_instructions\": %" PRIu64 ", \"ticks\": %" PRIu64,
		win.kernel, win.tick_kernel, win.tick_kernel_max, win.user,
		win.ticks);
	if (conf.kick)
		fprintf(f, ", \"kicks_of_others\": %" PRIu64, win.kicks_of_others);
	else
		fputs(", \"kicks_of_others\": null", f);
	if (win.seconds)
		fprintf(f, ", \"user_instructions_per_second_min\": %" PRIu64,
			win.second_min);
	else
		fputs(", \"user_instructions_per_second_min\": null", f);
	fprintf(f, ", \"taken_ns\": %" PRId64, taken_ns() - win.begin_taken_ns);
	fprintf(f, ", \"stood_still_ns\": %" PRId64, win.stood_still_ns);
	if (win.deliveries)
		fprintf(f, ", \"delivered_after_ns\": %" PRId64, win.delivered_after_ns);
	else
		fputs(", \"delivered_after_ns\": null", f);
	fprintf(f, ", \"probes\": %" PRIu64 ", \"probes_seen\": %" PRIu64
		", \"misplaced\": %" PRIu64,
		cpu.probes, cpu.probes_seen, win.misplaced);
	if (conf.heavy) {
		fputs(", \"heavy\": {", f);
		for (i = 0; i < HEAVY_KINDS; i++)
			fprintf(f, "%s\"%s\": %" PRIu64, i ? ", " : "",
				heavy_names[i], win.heavy[i]);
		fputs("}", f);
	}
	fputs(", \"vectors\": [", f);
	for (i = 0; i < win.nr_vectors; i++)
		fprintf(f, "%s{\"pc\": \"0x%" PRIx64 "\", \"entries\": %" PRIu64
			", \"kernel_instructions\": %" PRIu64 "}",
			i ? ", " : "", win.vector[i].pc, win.vector[i].n,
			win.vector[i].insns);
	fprintf(f, "], \"vectors_dropped\": %" PRIu64 ", \"log\": [",
		win.vectors_dropped);
	for (i = 0; i < win.nr_log; i++)
		fprintf(f, "%s{\"pc\": \"0x%" PRIx64 "\", \"tick\": %s"
			", \"kernel_instructions\": %" PRIu64 ", \"at\": %" PRIu64 "}",
			i ? ", " : "", entry_log[i].pc,
			entry_log[i].tick ? "true" : "false", entry_log[i].insns,
			entry_log[i].at);
	fprintf(f, "], \"log_dropped\": %" PRIu64 "}\n", win.log_dropped);
	fflush(f);
}

void add_to_vector(const struct entry *e, uint64_t n)
{
	unsigned int i;

	for (i = 0; i < win.nr_vectors; i++)
		if (win.vector[i].pc == e->pc)
			break;
	if (i == win.nr_vectors) {
		if (i == MAX_VECTORS) {
			win.vectors_dropped += n;
			return;
		}
		win.vector[i].pc = e->pc;
		win.vector[i].n = 0;
		win.vector[i].insns = 0;
		win.nr_vectors++;
	}
	win.vector[i].n += n;
	win.vector[i].insns += e->insns;
}

void begin_window(uint32_t id)
{
	uint64_t seconds = win_open ? 0 : win.seconds, least = win.second_min;

	memset(&win, 0, sizeof(win));
	win.id = id;
	win.seconds = seconds;		/* that ended since the last window */
	win.second_min = least;
	win.begin_ns = now_ns();
	win.begin_taken_ns = taken_ns();
	last_look.at_ns = win.begin_ns;
	last_look.taken_ns = win.begin_taken_ns;
	last_look.before_ns = 0;
	win_open = true;
	cpu.entry = NULL;
}

void end_window(void)
{
	if (win_open)
		write_window();
	win_open = false;
	win.seconds = 0;
}

uint64_t spent_ns(void)
{
	return __atomic_load_n(&cpu.idle_ns, __ATOMIC_RELAXED) +
		__atomic_load_n(&cpu.held_ns, __ATOMIC_RELAXED);
}

void begin_asked_window(uint32_t id, uint64_t asked_ns, uint64_t asked_spent_ns)
{
	uint64_t waited = now_ns() - asked_ns, spent = spent_ns() - asked_spent_ns;

	second_restart();
	begin_window(id);
	/* The next block takes a mark: if that was late, the vCPU did not run. */
	if (waited > spent)
		win.begin_taken_ns -= (int64_t)(waited - spent);
}

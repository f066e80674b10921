/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A window of the observed vCPU: what is counted in it, and the line that says so.  All of it
 * belongs to that vCPU's thread.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cause.h"
#include "clock.h"
#include "heavy.h"

#define MAX_VECTORS	64
#define MAX_SYSCALLS	8
#define MAX_LOG		4096

struct entry {
	uint64_t pc;
	uint64_t insns;
	uint64_t at;		/* user instructions of the window so far */
	bool tick;
};

struct window {
	uint32_t id;
	uint64_t entries, tick_entries, probe_entries, zero_insn_entries;
	uint64_t kernel, tick_kernel, tick_kernel_max, user;
	uint64_t ticks;
	uint64_t kicks_of_others;	/* entries by conf.kick that conf.deliver did not send */
	uint64_t misplaced;		/* cpu.misplaced, since it began */
	uint64_t heavy[HEAVY_KINDS];
	uint64_t begin_ns;
	int64_t begin_taken_ns;
	int64_t stood_still_ns;		/* the longest that was taken at a stretch */
	uint64_t deliveries;		/* entries by conf.kick that conf.deliver did send */
	int64_t delivered_after_ns;	/* the least that was taken right before one of these */
	uint64_t seconds, second_min;	/* those that ended in this window */
	struct {
		uint64_t pc, n, insns;
	} vector[MAX_VECTORS];
	unsigned int nr_vectors;
	uint64_t vectors_dropped;
	unsigned int nr_log;
	uint64_t log_dropped;
};

struct conf {
	FILE *out;
	uint64_t syscall[MAX_SYSCALLS];
	unsigned int nr_syscalls;
	uint64_t kick, deliver;	/* Isolator's own interrupt, and what sends it; 0: none */
	unsigned int log_cap;
	bool heavy;
	bool copies;		/* how qemu_plugin_insn_data() answers */
};

/* The observed vCPU's state. */
struct cpu {
	bool in_kernel;
	bool user_gs;		/* swapgs parity: user's GS base is loaded */
	bool returning;		/* the last block ends in a return to user mode */
	bool in_tick;
	bool probe;		/* the next entry is a deliberate one */
	bool unsettled;		/* what entered is not known yet: arriving is not counted */
	bool zero;		/* it came before one user instruction ran */
	enum cause cause;
	uint64_t tick_insns;
	struct entry *entry, arriving;
	uint64_t misplaced;	/* ways into the kernel that are no slot of a vector */
	unsigned int until_clock;
	uint64_t probes, probes_seen;
	uint64_t idle_ns, idle_since_ns, held_ns;
};

/*
 * The current second, of the vCPU's own time: what the host took is left out.  Seconds run on from
 * window to window, so that windows shorter than one leave no second out.
 */
struct second {
	uint64_t begin_ns, begin_own_ns, user;
};

/* Each block of the guest comes here: not by way of the table of what other objects may replace. */
#pragma GCC visibility push(hidden)

extern struct conf conf;
extern struct second second;
extern struct cpu cpu;
extern atomic_int target;	/* the observed vCPU; -1: none */
extern struct window win;
extern bool win_open;
extern struct entry entry_log[MAX_LOG];

/* Seconds begin anew: what ran before is another program's. */
void second_restart(void);
/* Ends the current second if it is over; notes if the vCPU has stood still. */
void look_at_clock(void);
void note_delivery(void);

void begin_window(uint32_t id);
/*
 * The same, asked for by another vCPU at @asked_ns, when spent_ns() was @asked_spent_ns: what
 * was taken since then belongs to it.
 */
void begin_asked_window(uint32_t id, uint64_t asked_ns, uint64_t asked_spent_ns);
/* Time in which the observed vCPU was idle, or held on request; in any thread. */
uint64_t spent_ns(void);
/* Writes it, if one is open. */
void end_window(void);

/* @n entries like @e. */
void add_to_vector(const struct entry *e, uint64_t n);

#pragma GCC visibility pop

#endif

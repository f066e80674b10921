/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What isolator prove counts with.  One that reads 0 proves nothing until it has been
 * seen to count: each is read around a deliberate kernel entry before the window and
 * after it, and around the window itself.
 */
#ifndef INSTRUMENT_H
#define INSTRUMENT_H

#include <stdbool.h>
#include <stdint.h>

enum point {
	BEFORE_FROM, BEFORE_TO,		/* around the entry before the window */
	WINDOW_FROM, WINDOW_TO,
	AFTER_FROM, AFTER_TO,
	TICK_FROM, TICK_TO,		/* around each tick that the task makes itself */
	POINTS,
};

/* Something that is counted: an instrument has one, or one for each class. */
struct tally {
	char name[24];
	char about[96];		/* may be empty */
	uint64_t count[POINTS];
	uint64_t own;		/* of the window's: what the task itself asked for */
};

#define INSTRUMENT_TALLIES 128
#define INSTRUMENT_TEXT 192

enum instrument_state {
	INSTRUMENT_ABSENT,
	INSTRUMENT_DEAD,	/* a deliberate entry did not move it */
	INSTRUMENT_UNPROVEN,	/* nobody can move it: only what it shows is used, not a 0 */
	INSTRUMENT_BLIND,	/* counts, but not the task's own ticks apart */
	INSTRUMENT_COUNTS,
	INSTRUMENT_STATES,
};

extern const char *const instrument_states[INSTRUMENT_STATES];

/* Who reads it: the spinner on the CPU that is looked at, or the watcher elsewhere. */
enum reader { READ_BY_SPINNER, READ_BY_WATCHER };

struct spin;
struct instrument;

struct instrument_type {
	const char *name;
	enum reader reader;
	bool decides;		/* it sees all that interrupts: without one there is no "quiet" */
	bool provoked;		/* a deliberate kernel entry moves it */
	bool mixes;		/* what comes while the task ticks is counted too */
	/* Makes ready, or writes to absent why it cannot. */
	void (*open)(struct instrument *instrument, const struct spin *spin);
	/* Fills count[point] of the tallies. */
	void (*sample)(struct instrument *instrument, enum point point, const struct spin *spin);
};

/* In memory that the spinner and the watcher share. */
struct instrument {
	const struct instrument_type *type;
	char absent[INSTRUMENT_TEXT];	/* why it is not there; "": it is */
	char note[INSTRUMENT_TEXT];	/* how it is read, may be empty */
	bool user;	/* the spinner reads it in user mode */
	bool blunt;	/* as type->mixes, for this one */
	bool at_register;	/* file is a device of registers, no counter */
	bool aside;	/* what it shows does not decide: note says why */
	uint64_t slack;	/* what its own reading may add to a window */
	int file;
	const void *page;
	unsigned int nr_tallies;
	struct tally tallies[INSTRUMENT_TALLIES];
};

/* The tally of @name, a new one if there is none; the last one takes what has no room. */
struct tally *instrument_tally(struct instrument *instrument, const char *name,
			       const char *about);

/* What was counted between two points, own taken off where that is the window. */
uint64_t tally_since(const struct tally *tally, enum point from);

/* The sum over its tallies. */
uint64_t instrument_since(const struct instrument *instrument, enum point from);

/* After a run with @ticks of the task's own. */
enum instrument_state instrument_state(const struct instrument *instrument, uint64_t ticks);

/* Something came in the window, and this instrument is one to say so. */
bool instrument_saw(const struct instrument *instrument, uint64_t ticks);

/* Adds what was counted around a tick to own. */
void instrument_own(struct instrument *instrument);

/* Writes why it is absent. */
void instrument_absent(struct instrument *instrument, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The same from the text of /proc/interrupts or /proc/softirqs, which is written to: the
 * tallies get what came between a point and the one that ends it.  Each point is taken once,
 * and no other one between the two.  False: it has no column of @cpu.
 */
bool instrument_take_irqs(struct instrument *instrument, enum point point, char *text, int cpu);

#define INSTRUMENTS_MAX 12

/* Of this machine, ended by NULL. */
extern const struct instrument_type *const instruments[];

extern const struct instrument_type instrument_interrupts, instrument_softirqs,
	instrument_isolator, instrument_instructions, instrument_taken, instrument_smi;

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A trial of the plugin park: what holds a vCPU, and what ends that.
 *
 * Nothing is held for good.  Where the sender came back, or waits for the isolated CPU in the
 * kernel's own loop, that goes on; also where the sender begins block after block and gets
 * nowhere, as at a lock.  Where it begins none, the emulator itself may wait for the vCPU that is
 * held: such a trial is marked, and shows nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "park.h"

#define MS		1000000ull
/* Rounds of its wait after which a sender is seen to wait; blocks after which it spins. */
#define ENOUGH_WAITS	16
#define ENOUGH_BLOCKS	400000
/* How long a sender that begins no block is waited for, and anything at all. */
#define STUCK_NS	(400 * MS)
#define LONGEST_NS	(3000 * MS)
/* User blocks after which nothing else is on its way to the isolated CPU. */
#define SETTLED		400
/* An instruction that came again so often, so near, is a loop that waits. */
#define LOOP_LENGTH	12
#define LOOPS		300

struct seen seen;
atomic_bool armed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool own;		/* the next entry is the task's own */
static bool proper_noted;	/* one event for all of the kernel proper, up to the next other */
static bool release_noted;
static bool first;		/* the entry that is tried has begun */
static bool in_entry;		/* ... and is not over */
static _Atomic uint64_t settled;
static _Atomic uint64_t sender_blocks;
static atomic_bool released;

static bool is_armed(void)
{
	return atomic_load_explicit(&armed, memory_order_relaxed);
}

/* Until something has changed, or some ms; the lock is held. */
static void wait_a_little(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 2 * (long)MS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&changed, &lock, &until);
}

static void arm(void)
{
	pthread_mutex_lock(&lock);
	memset(&seen, 0, offsetof(struct seen, trace));
	seen.nr_events = seen.nr_entries = seen.entries_dropped = 0;
	seen.events[0] = 0;
	if (!park_read(&seen.asked, PARK_PAGE, sizeof(seen.asked)))
		seen.asked.pc = 0;
	seen.begin_ns = now_ns();
	own = proper_noted = release_noted = first = in_entry = false;
	atomic_store(&settled, 0);
	atomic_store(&sender_blocks, 0);
	atomic_store(&released, false);
	atomic_store(&armed, true);
	pthread_mutex_unlock(&lock);
}

static void set_sender(enum sender what)
{
	pthread_mutex_lock(&lock);
	seen.sender = what;
	if (what == SENDER_BACK)
		atomic_store(&released, true);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* The lock is held.  Does the isolated vCPU stand where the sender wants it? */
static bool stands(void)
{
	return seen.place == PLACE_GATE || seen.place == PLACE_PARKED || seen.place == PLACE_PAST;
}

static void wait_for_place(void)
{
	uint64_t end = now_ns() + LONGEST_NS;

	pthread_mutex_lock(&lock);
	while (!stands() && now_ns() < end)
		wait_a_little();
	pthread_mutex_unlock(&lock);
}

/* It ran in user mode for a while: what was on its way to it has come. */
static void settle(void)
{
	uint64_t end = now_ns() + LONGEST_NS;

	while (atomic_load(&settled) < SETTLED && now_ns() < end) {
		const struct timespec moment = { .tv_nsec = 20000 };

		nanosleep(&moment, NULL);
	}
}

void park_mark(uint32_t what)
{
	switch (what) {
	case PARK_OWN:
		own = true;
		break;
	case PARK_ARM:
		arm();
		break;
	case PARK_WAIT:
		wait_for_place();
		break;
	case PARK_BEGIN:
		atomic_store(&sender_blocks, 0);
		set_sender(SENDER_BEGUN);
		break;
	case PARK_DONE:
		set_sender(SENDER_BACK);
		break;
	case PARK_SETTLE:
		settle();
		break;
	case PARK_END:
		pthread_mutex_lock(&lock);
		atomic_store(&armed, false);
		park_read(seen.asked.results, PARK_PAGE + offsetof(struct park_trial, results),
			  sizeof(seen.asked.results));
		pthread_mutex_unlock(&lock);
		break;
	}
}

/* The lock is held.  How the sender ended, once that is known. */
static enum ending ending(uint64_t *blocks, uint64_t *since, uint64_t begin)
{
	uint64_t now = now_ns(), done = atomic_load(&sender_blocks);

	if (seen.sender == SENDER_BACK)
		return ENDING_DONE;
	if (seen.sender == SENDER_BEFORE)
		return now - begin > LONGEST_NS ? ENDING_STUCK : ENDING_NONE;
	if (seen.waits >= ENOUGH_WAITS)
		return ENDING_WAITS;
	if (done >= ENOUGH_BLOCKS)
		return ENDING_SPINS;
	if (done != *blocks) {
		*blocks = done;
		*since = now;
	}
	return now - *since > STUCK_NS ? ENDING_STUCK : ENDING_NONE;
}

static void stand(uint64_t pc, bool loops)
{
	uint64_t begin = now_ns(), blocks = 0, since = begin;

	pthread_mutex_lock(&lock);
	seen.parked = true;
	seen.loops = loops;
	seen.parked_pc = pc;
	seen.parked_index = seen.index;
	seen.place = PLACE_PARKED;
	pthread_cond_broadcast(&changed);
	while (!seen.ending) {
		seen.ending = ending(&blocks, &since, begin);
		if (!seen.ending)
			wait_a_little();
	}
	seen.place = PLACE_PATH;
	atomic_store(&released, true);
	pthread_mutex_unlock(&lock);
}

static void wait_at_gate(void)
{
	uint64_t end = now_ns() + LONGEST_NS;

	pthread_mutex_lock(&lock);
	seen.place = PLACE_GATE;
	pthread_cond_broadcast(&changed);
	while (seen.sender < SENDER_HELD && now_ns() < end && seen.waits < ENOUGH_WAITS)
		wait_a_little();
	seen.place = PLACE_PATH;
	pthread_mutex_unlock(&lock);
}

static void note(char what)
{
	if (seen.nr_events < MAX_EVENTS - 1)
		seen.events[seen.nr_events++] = what;
}

void park_event(char what)
{
	bool is_released = atomic_load_explicit(&released, memory_order_relaxed);

	proper_noted = what == 'K';
	if (is_released && !release_noted)
		note('|');
	release_noted = is_released;
	if (is_released || seen.held)
		note(what);
}

void park_proper(void)
{
	if (!proper_noted)
		park_event('K');
	if (in_entry && seen.length < MAX_TRACE && seen.length &&
	    seen.trace[seen.length - 1])
		seen.trace[seen.length++] = 0;
}

/* Is this a round of a short loop that has come round often? */
static bool goes_round(uint64_t pc)
{
	uint32_t i, back = seen.length < LOOP_LENGTH ? seen.length : LOOP_LENGTH;

	for (i = 1; i <= back; i++)
		if (seen.trace[seen.length - i] == pc)
			break;
	seen.loop = i <= back ? seen.loop + 1 : 0;
	return seen.loop > LOOPS;
}

void park_code(uint64_t pc, bool proper)
{
	if (proper && !proper_noted)
		park_event('K');
	if (!in_entry || seen.parked)
		return;
	if (seen.asked.hold && seen.sender < SENDER_HELD &&
	    (seen.asked.gate ? pc == seen.asked.gate : !seen.index))
		wait_at_gate();
	if (pc == seen.asked.pc && seen.asked.nth == seen.times++)
		stand(pc, false);
	else if (goes_round(pc) && seen.asked.hold && seen.sender == SENDER_HELD)
		stand(pc, true);
	else if (seen.length < MAX_TRACE)
		seen.trace[seen.length++] = pc;
	seen.index++;
}

void park_entered(uint64_t pc)
{
	bool mine = own;

	if (!is_armed())
		return;
	own = false;
	atomic_store(&settled, 0);
	park_event(mine ? 'E' : 'X');
	if (seen.nr_entries < MAX_ENTRIES) {
		seen.entries[seen.nr_entries].pc = pc;
		seen.entries[seen.nr_entries++].own = mine;
	} else {
		seen.entries_dropped++;
	}
	if (!mine || first)
		return;
	first = in_entry = true;
	pthread_mutex_lock(&lock);
	seen.place = PLACE_PATH;
	pthread_mutex_unlock(&lock);
}

void park_user(void)
{
	atomic_fetch_add_explicit(&settled, 1, memory_order_relaxed);
	if (!in_entry)
		return;
	in_entry = false;
	park_event('U');
	pthread_mutex_lock(&lock);
	seen.place = PLACE_PAST;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void park_hold(uint64_t pc)
{
	uint64_t end = now_ns() + LONGEST_NS;

	if (seen.asked.hold != pc)
		return;
	pthread_mutex_lock(&lock);
	if (seen.sender == SENDER_BEGUN) {
		seen.sender = SENDER_HELD;
		seen.held = true;
		pthread_cond_broadcast(&changed);
		while (seen.place != PLACE_PARKED && seen.place != PLACE_PAST && now_ns() < end)
			wait_a_little();
	}
	pthread_mutex_unlock(&lock);
}

void park_waits(void)
{
	pthread_mutex_lock(&lock);
	if (seen.sender >= SENDER_BEGUN)
		seen.waits++;
	pthread_mutex_unlock(&lock);
}

void park_block(void)
{
	atomic_fetch_add_explicit(&sender_blocks, 1, memory_order_relaxed);
}

static const char *ending_name(void)
{
	static const char *const names[] = { "none", "done", "waits", "spins", "stuck" };

	return names[seen.ending];
}

void park_write(FILE *f)
{
	unsigned int i;

	seen.events[seen.nr_events] = 0;
	fprintf(f, "{\"schema\": \"isolator.observer.park\", \"version\": 1, \"trial\": %" PRIu32
		", \"ms\": %.1f, \"parked\": %s, \"loops\": %s, \"held\": %s, \"index\": %" PRIu32
		", \"pc\": \"%" PRIx64 "\", \"ending\": \"%s\", \"events\": \"%s\", \"past\": %s",
		seen.asked.trial, (double)(now_ns() - seen.begin_ns) / 1e6,
		seen.parked ? "true" : "false", seen.loops ? "true" : "false",
		seen.held ? "true" : "false", seen.parked_index, seen.parked_pc, ending_name(),
		seen.events, seen.place == PLACE_PAST ? "true" : "false");
	fputs(", \"entries\": [", f);
	for (i = 0; i < seen.nr_entries; i++)
		fprintf(f, "%s[\"%" PRIx64 "\", %s]", i ? ", " : "", seen.entries[i].pc,
			seen.entries[i].own ? "true" : "false");
	fprintf(f, "], \"entries_dropped\": %u, \"results\": [", seen.entries_dropped);
	for (i = 0; i < PARK_RESULTS; i++)
		fprintf(f, "%s%" PRIu64, i ? ", " : "", seen.asked.results[i]);
	fputs("]", f);
	if (!seen.asked.pc) {
		/* 0: the kernel proper. */
		fprintf(f, ", \"rounds\": %" PRIu32 ", \"trace\": [", seen.loop);
		for (i = 0; i < seen.length; i++)
			fprintf(f, "%s\"%" PRIx64 "\"", i ? ", " : "", seen.trace[i]);
		fputs("]", f);
	}
	fputs("}\n", f);
	fflush(f);
}

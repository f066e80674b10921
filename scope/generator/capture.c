// SPDX-License-Identifier: GPL-2.0-or-later
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "calibrate.h"
#include "capture.h"
#include "place.h"
#include "ring.h"
#include "sequence.h"

#define RARELY 1024u		/* passes from one look at the lines that nobody expects */
#define IDLE_MS 10		/* from one look to the next while no trigger runs */
#define TAKE 64u		/* answers of a line at a time */
#define UNSURE_LEAST_NS 10000	/* shorter pauses are the loop's own */

static void emit(void *to, const struct record *record)
{
	const struct capture *capture = to;
	struct record ours;

	if (record->kind != RECORD_TRIGGER && record->kind != RECORD_STRAY) {
		ring_put(capture->ring, record);
		return;
	}
	ours = *record;
	ours.at_ns -= capture->begin_ns;
	ring_put(capture->ring, &ours);
}

void capture_init(struct capture *capture, struct scope_lines *lines, struct book *book,
		  struct ring *ring)
{
	memset(capture, 0, sizeof(*capture));
	capture->lines = lines;
	capture->cpu = -1;
	capture->wake = -1;
	capture->settings = (struct settings)SETTINGS_DEFAULT;
	capture->begin_ns = clock_now();
	capture->unsure_ns = UNSURE_LEAST_NS;
	capture->book = book;
	capture->ring = ring;
	book_begin(book, lines_begin(lines), emit, capture);
	for (unsigned int i = 0; i < SCOPE_LINES_MAX; i++)
		lines_skip(lines, i, &capture->readers[i]);
}

static void look(struct capture *capture, unsigned int line)
{
	uint32_t sequences[TAKE];
	unsigned int count;
	uint64_t now;

	if (!lines_waiting(capture->lines, line, &capture->readers[line]))
		return;
	do {
		count = lines_take(capture->lines, line, &capture->readers[line], sequences, TAKE);
		/* Read after the answers: it is never too early for them. */
		now = clock_now();
		for (unsigned int i = 0; i < count; i++)
			book_answer(capture->book, line, sequences[i], now,
				    now - capture->looked_ns > capture->unsure_ns);
	} while (count == TAKE);
}

static void look_at(struct capture *capture, uint32_t lines)
{
	for (; lines; lines &= lines - 1)
		look(capture, (unsigned int)__builtin_ctz(lines));
}

static void ring_doorbells(const struct capture *capture)
{
	static const uint64_t one = 1;

	for (unsigned int i = 0; i < capture->nr_peers; i++) {
		/* It cannot fail but for a counter that is full: then it rings already. */
		if (write(capture->peers[i].doorbell, &one, sizeof(one)) < 0)
			continue;
	}
}

static void fire(struct capture *capture)
{
	struct book *book = capture->book;
	uint32_t sequence = sequence_of(book->newest + 1, book->base);
	uint64_t at = clock_now(), late = at - capture->schedule.due_ns;

	__atomic_store_n(&capture->lines->level, 1, __ATOMIC_RELAXED);
	/* The target reads it with acquire, when the doorbell rings or as it polls. */
	__atomic_store_n(&capture->lines->trigger, sequence, __ATOMIC_RELEASE);
	ring_doorbells(capture);
	book_trigger(book, at, late < UINT32_MAX ? (uint32_t)late : UINT32_MAX, capture->mask);
	capture->fall_ns = at + (uint64_t)((double)capture->schedule.period_ns *
					   capture->settings.duty_ppm * 1e-6);
	schedule_next(&capture->schedule, at);
	if (capture->left != UINT64_MAX && !--capture->left)
		capture->running = false;
}

uint64_t capture_pass(struct capture *capture)
{
	uint64_t begin = clock_now();

	if (!(capture->passes++ % RARELY)) {
		capture->watched = capture->mask | lines_offered(capture->lines);
		look_at(capture, ~capture->watched);
	}
	look_at(capture, capture->watched);
	capture->looked_ns = begin;
	if (capture->fall_ns && begin >= capture->fall_ns) {
		__atomic_store_n(&capture->lines->level, 0, __ATOMIC_RELEASE);
		capture->fall_ns = 0;
	}
	if (capture->running && begin >= capture->schedule.due_ns)
		fire(capture);
	book_expire(capture->book, begin, capture->settings.patience_ns);
	return begin;
}

void capture_start(struct capture *capture, const struct settings *settings, uint64_t triggers)
{
	capture->settings = *settings;
	if (!capture->settings.mask)
		capture->settings.mask = lines_offered(capture->lines);
	capture->mask = (uint32_t)capture->settings.mask;
	capture->passes = 0;
	__atomic_store_n(&capture->lines->enabled, capture->mask, __ATOMIC_RELEASE);
	capture->left = triggers ? triggers : UINT64_MAX;
	schedule_begin(&capture->schedule, &capture->settings, clock_now());
	capture->running = true;
}

static void change(struct capture *capture, const struct settings *settings)
{
	uint64_t seed = capture->settings.seed;
	bool random = capture->settings.random;

	capture->settings = *settings;
	if (!capture->running)
		return;
	if (!settings->mask)
		capture->settings.mask = capture->mask;
	capture->mask = (uint32_t)capture->settings.mask;
	capture->passes = 0;
	__atomic_store_n(&capture->lines->enabled, capture->mask, __ATOMIC_RELEASE);
	schedule_set(&capture->schedule, settings);
	if (settings->seed != seed || settings->random != random)
		capture->schedule.state = settings->seed;
}

static void remove_peer(struct capture *capture, uint64_t id)
{
	for (unsigned int i = 0; i < capture->nr_peers; i++) {
		if (capture->peers[i].id != id)
			continue;
		close(capture->peers[i].doorbell);
		capture->peers[i] = capture->peers[--capture->nr_peers];
		return;
	}
}

static void add_peer(struct capture *capture, const struct order *order)
{
	/* A server that says the same twice has forgotten the first. */
	remove_peer(capture, order->number);
	if (capture->nr_peers == CAPTURE_PEERS) {
		close(order->file);
		return;
	}
	capture->peers[capture->nr_peers++] = (struct peer){ order->number, order->file };
}

/* False: it was ORDER_QUIT. */
static bool obey(struct capture *capture, const struct order *order)
{
	switch (order->type) {
	case ORDER_SETTINGS:
		change(capture, &order->settings);
		break;
	case ORDER_START:
		capture_start(capture, &order->settings, order->number);
		/* Before the order counts as taken: see capture_running(). */
		__atomic_store_n(&capture->active, true, __ATOMIC_RELAXED);
		__atomic_store_n(&capture->busy, true, __ATOMIC_RELAXED);
		break;
	case ORDER_STOP:
		capture->running = false;
		break;
	case ORDER_CALIBRATE:
		calibrate((uint32_t)order->number, capture->cpu, &capture->floor);
		capture_trust(capture, &capture->floor);
		__atomic_store_n(&capture->floors, capture->floors + 1, __ATOMIC_RELEASE);
		break;
	case ORDER_PEER:
		add_peer(capture, order);
		break;
	case ORDER_NO_PEER:
		remove_peer(capture, order->number);
		break;
	case ORDER_QUIT:
		return false;
	}
	return true;
}

static bool obey_all(struct capture *capture)
{
	/* Pairs with the release in capture_order(). */
	uint32_t given = __atomic_load_n(&capture->orders_given, __ATOMIC_ACQUIRE);

	while (capture->orders_taken != given) {
		bool go_on = obey(capture, &capture->orders[capture->orders_taken % CAPTURE_ORDERS]);

		__atomic_store_n(&capture->orders_taken, capture->orders_taken + 1,
				 __ATOMIC_RELEASE);
		if (!go_on)
			return false;
	}
	return true;
}

static void show_state(struct capture *capture)
{
	uint32_t wanted = __atomic_load_n(&capture->state_wanted, __ATOMIC_ACQUIRE);
	struct capture_state *state = &capture->state;

	if (wanted == capture->state_given)
		return;
	state->settings = capture->settings;
	state->triggers = capture->book->closed;
	state->running = capture->running;
	state->lost = 0;
	for (unsigned int i = 0; i < SCOPE_LINES_MAX; i++)
		state->lost += capture->readers[i].lost;
	memcpy(state->lines, capture->book->lines, sizeof(state->lines));
	__atomic_store_n(&capture->state_given, wanted, __ATOMIC_RELEASE);
}

static void rest(struct capture *capture)
{
	struct pollfd wake = { .fd = capture->wake, .events = POLLIN };
	uint64_t count;

	ring_flush(capture->ring);
	if (poll(&wake, 1, IDLE_MS) > 0 && read(capture->wake, &count, sizeof(count)) < 0)
		return;
	/* Then all lines are looked at, and the rest is no pause of a measurement. */
	capture->passes = 0;
	capture->looked_ns = clock_now();
}

void *capture_thread(void *argument)
{
	struct capture *capture = argument;

	place_current(capture->cpu);
	while (obey_all(capture)) {
		bool busy;

		capture_pass(capture);
		busy = capture->running || book_waiting(capture->book) || capture->fall_ns;
		/* Behind the records: who sees it false finds all of them. */
		__atomic_store_n(&capture->active, capture->running, __ATOMIC_RELAXED);
		__atomic_store_n(&capture->busy, busy, __ATOMIC_RELEASE);
		show_state(capture);
		if (!busy)
			rest(capture);
	}
	for (unsigned int i = 0; i < capture->nr_peers; i++)
		close(capture->peers[i].doorbell);
	capture->nr_peers = 0;
	lines_end(capture->lines);
	return NULL;
}

void capture_trust(struct capture *capture, const struct floor_result *result)
{
	capture->unsure_ns = UNSURE_LEAST_NS;
	if (result->rounds && 16 * result->resolution > capture->unsure_ns)
		capture->unsure_ns = 16 * result->resolution;
}

unsigned int capture_room(const struct capture *capture)
{
	uint32_t taken = __atomic_load_n(&capture->orders_taken, __ATOMIC_ACQUIRE);

	return CAPTURE_ORDERS - (capture->orders_given - taken);
}

void capture_order(struct capture *capture, const struct order *order)
{
	static const uint64_t one = 1;

	if (order->type == ORDER_START || order->type == ORDER_STOP) {
		capture->start_given = order->type == ORDER_START;
		capture->start_number = capture->orders_given + 1;
	}
	capture->orders[capture->orders_given % CAPTURE_ORDERS] = *order;
	__atomic_store_n(&capture->orders_given, capture->orders_given + 1, __ATOMIC_RELEASE);
	/* It cannot fail but for a counter that is full: then the thread is awake. */
	if (write(capture->wake, &one, sizeof(one)) < 0)
		return;
}

void capture_ask(struct capture *capture)
{
	__atomic_store_n(&capture->state_wanted, capture->state_wanted + 1, __ATOMIC_RELEASE);
}

bool capture_state_ready(const struct capture *capture)
{
	return __atomic_load_n(&capture->state_given, __ATOMIC_ACQUIRE) == capture->state_wanted;
}

static bool all_taken(const struct capture *capture)
{
	return __atomic_load_n(&capture->orders_taken, __ATOMIC_ACQUIRE) == capture->orders_given;
}

bool capture_busy(const struct capture *capture)
{
	return !all_taken(capture) || __atomic_load_n(&capture->busy, __ATOMIC_ACQUIRE);
}

bool capture_running(const struct capture *capture)
{
	uint32_t taken = __atomic_load_n(&capture->orders_taken, __ATOMIC_ACQUIRE);

	/* The last one to start or to stop is not obeyed yet. */
	if ((int32_t)(capture->start_number - taken) > 0)
		return capture->start_given;
	return __atomic_load_n(&capture->active, __ATOMIC_ACQUIRE);
}

uint32_t capture_floors(const struct capture *capture)
{
	return __atomic_load_n(&capture->floors, __ATOMIC_ACQUIRE);
}

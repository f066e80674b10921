// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: timers-two
 * cpus: 4
 * kernel: isolator
 * timeout: 90
 * about: two isolated CPUs that arm timers at the same time do not hang the CPU that runs them
 */
#include <sys/timerfd.h>
#include "../test.h"

enum {
	WINDOW_MS = 8000,
	LEAST = 1000,
	FIRST_US = 900, LAST_US = 20, EARLIER_NS = 100,
};

struct own {
	const struct own *other;
	int fd;
	_Atomic uint64_t done, failed;
};

/* Both are isolated: the first would be through before the second begins. */
static _Atomic bool both;
static _Atomic uint64_t expires;

/*
 * Only a timer that expires before the other CPU's next one stays here at first, and is
 * moved as its arming returns: each expires a little before the one before, of both.
 */
static void arm(struct worker *w)
{
	struct own *own = w->data;
	struct itimerspec when = { 0 };
	uint64_t at, now;

	/* At once: neither is ahead. */
	if (!both || own->done > own->other->done)
		return;
	/* now_ns() is another clock. */
	clock_gettime(CLOCK_MONOTONIC, &when.it_value);
	now = (uint64_t)when.it_value.tv_sec * SEC + (uint64_t)when.it_value.tv_nsec;
	at = expires -= EARLIER_NS;
	if (at - now - LAST_US * 1000 > FIRST_US * 1000)
		expires = at = now + FIRST_US * 1000;
	when.it_value.tv_sec = (time_t)(at / SEC);
	when.it_value.tv_nsec = (long)(at % SEC);
	own->failed += !!timerfd_settime(own->fd, TFD_TIMER_ABSTIME, &when, NULL);
	own->done++;
}

static bool expired(const struct own *own)
{
	uint64_t times;

	return read(own->fd, &times, sizeof(times)) == sizeof(times);
}

int main(void)
{
	struct worker *w[2] = { worker_new(1), worker_new(2) };
	struct own own[2] = { 0 };

	iso_require(4);
	for (int i = 0; i < 2; i++) {
		own[i].other = &own[!i];
		own[i].fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		if (own[i].fd < 0)
			bail_out("timerfd");
		w[i]->tick_ms = 10;
		w[i]->data = &own[i];
		w[i]->each = arm;
		need_worker(worker_thread(w[i]));
	}
	both = true;
	sleep_ms(WINDOW_MS);	/* sleep: without the lock it hangs within a few seconds */
	comes(own[0].done >= LEAST && own[1].done >= LEAST, 40000);
	both = false;
	for (int i = 0; i < 2; i++) {
		ok(own[i].done >= LEAST && !own[i].failed, "CPU %d: %lu timers armed, %lu failed",
		   i + 1, own[i].done, own[i].failed);
		ok(comes(expired(&own[i]), 5000), "CPU %d: they expire", i + 1);
		ok(w[i]->iso.page->state == ISOLATOR_STATE_ON, "CPU %d is still isolated",
		   i + 1);
	}
	for (int i = 0; i < 2; i++)
		worker_end(w[i]);
	return done_testing();
}

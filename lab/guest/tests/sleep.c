// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sleep
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: an isolated task that sleeps is woken in time and goes on isolated
 */
#include <linux/futex.h>
#include <poll.h>
#include "../test.h"

/*
 * A wake-up that waited for the deadline is late by that.  What a busy host adds, a guest has
 * had 3 s of it, is far less.
 */
enum { NANOSLEEP, FUTEX, READ, POLL, KINDS, AFTER_MS = 150, LATE_MS = 8000, DEADLINE_MS = 20000 };

static const char *const names[] = { "nanosleep", "futex", "read", "poll" };
static int pipes[2];
static _Atomic int asked = -1, asleep = -1, awake = -1;
static _Atomic uint64_t woke;
static uint32_t word;

static void sleeper(struct worker *w)
{
	struct timespec ts = { 0, AFTER_MS * 1000000 };
	struct pollfd pfd = { .fd = pipes[0], .events = POLLIN };
	int kind = asked;
	char c;

	if (kind == awake)
		return;
	asleep = kind;
	switch (kind) {
	case NANOSLEEP:
		nanosleep(&ts, NULL);	/* sleep: how it wakes is asked */
		break;
	case FUTEX:
		while (!*(volatile uint32_t *)&word)
			syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL);
		break;
	case READ:
		if (read(pipes[0], &c, 1) != 1)
			w->error = -EIO;
		break;
	case POLL:
		if (poll(&pfd, 1, DEADLINE_MS) != 1 || read(pipes[0], &c, 1) != 1)
			w->error = -EIO;
		break;
	}
	woke = now_ns();
	awake = kind;
}

static void wake(int kind)
{
	switch (kind) {
	case FUTEX:
		*(volatile uint32_t *)&word = 1;
		syscall(SYS_futex, &word, FUTEX_WAKE, 1);
		break;
	case READ:
	case POLL:
		if (write(pipes[1], "x", 1) != 1)
			bail_out("write to the pipe");
		break;
	}
}

static void check(struct worker *w, int kind)
{
	uint64_t start = now_ns(), late;
	long long before, after;

	asked = kind;
	until(asleep == kind);
	if (kind == NANOSLEEP) {
		sleep_ms(AFTER_MS / 2);	/* sleep: less than it does itself */
		start += AFTER_MS * MS;
	} else {
		sleep_ms(AFTER_MS);	/* sleep: it does not wake by itself */
		ok(awake != kind, "%s: it sleeps", names[kind]);
		start = now_ns();
		wake(kind);
	}
	comes(awake == kind, LATE_MS);
	late = woke > start ? woke - start : 0;
	ok(awake == kind && late < (uint64_t)LATE_MS * MS, "%s: woken %lu us late", names[kind],
	   late / 1000);
	/* No ticks meanwhile: what one of them finds due may take interrupts. */
	w->tick_ms = 0;
	worker_tells(w);
	before = interrupts_all(1);
	sleep_ms(300);	/* sleep: nothing comes meanwhile */
	after = interrupts_all(1);
	w->tick_ms = 10;
	ok(w->iso.page->state == ISOLATOR_STATE_ON && after == before,
	   "%s: and goes on isolated, %lld interrupts in 0.3 s", names[kind],
	   after - before);
}

int main(void)
{
	struct worker *w = worker_new(1);

	iso_require(2);
	if (pipe(pipes))
		bail_out("pipe");
	w->each = sleeper;
	w->tick_ms = 10;
	w->spin_ns = SEC;
	w->deadline_ns = (uint64_t)DEADLINE_MS * MS;
	need_worker(worker_thread(w));
	for (int kind = 0; kind < KINDS; kind++)
		check(w, kind);
	ok(!w->iso.page->missed && !w->error, "no deadline miss, no error");
	worker_end(w);
	return done_testing();
}

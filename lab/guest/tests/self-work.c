// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: self-work
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * alone: yes
 * about: irq_work that a system call raises last thing is done before user mode, 10^4 times
 * observe: 1 any 0
 */
#include "gate.h"
#include "windows.h"

MARK_WINDOW_TABLE();

enum { RAISED = 1, OVER, RAISES = 10000 };

static _Atomic uint64_t raised;

static void raise_last(int fd)
{
	for (int i = 0; i < RAISES; i++) {
		mark_tick_begin();
		raised += write(fd, "work", 4) == 4;
		mark_tick_end();
	}
}

static void follow(struct worker *w)
{
	unsigned int now = window_turn(OVER);

	if (!now)
		return;
	if (now == RAISED)
		raise_last(*(int *)w->data);
	window = now;
}

static unsigned int works_seen(void)
{
	unsigned int works = 0;
	char text[160], *at;

	if (get_file(STOPS, text, sizeof(text)))
		bail_out(STOPS);
	at = strstr(text, " works ");
	if (!at || sscanf(at, " works %u", &works) != 1)
		bail_out("no works in " STOPS);
	return works;
}

int main(void)
{
	struct worker *w = worker_new(1);
	unsigned int works;
	int fd;

	iso_require(2);
	stops_require();
	fd = open(STOPS, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		bail_out(STOPS);
	w->data = &fd;
	w->each = follow;
	w->deadline_ns = 60 * SEC;
	need_worker(worker_thread(w));
	works = works_seen();
	window_go(RAISED);
	works = works_seen() - works;
	ok(raised == RAISES, "irq_work was raised %lu times", raised);
	ok(works == RAISES, "it ran %u times by then", works);
	window_go(OVER);
	worker_end(w);
	ok(!w->missed, "no deadline miss");
	close(fd);
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kprobes
 * cpus: 2
 * kernel: isolator
 * timeout: 600
 * alone: yes
 * about: 200 kprobes come and go beside an isolated task: 0 entries
 * observe: 1 any 0
 */
#include "kprobes.h"
#include "windows.h"

MARK_WINDOW_TABLE();

enum { SPINS = 1, OVER };

static void follow(struct worker *w)
{
	unsigned int now = window_turn(OVER);

	(void)w;
	if (now)
		window = now;
}

int main(void)
{
	struct probe_counts beside = { 0 };
	struct worker *w = kprobes_worker(follow, 0);

	window_go(SPINS);
	kprobes_churn("beside user mode", &beside);
	if (!ok(!w->iso.page->missed && !w->iso.page->immediate,
		"no stop was delivered there: %llu misses, %llu immediate", w->iso.page->missed,
		w->iso.page->immediate))
		show_deliveries();
	ok(!beside.hits && !beside.misses, "nobody else calls it");
	window_go(OVER);
	return kprobes_end(w);
}

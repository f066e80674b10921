// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fd
 * cpus: 2
 * kernel: isolator
 * timeout: 30
 * about: a descriptor in another process neither keeps nor ends isolation
 */
#include "../test.h"

static struct iso iso;

/* What the child's ioctls on the inherited descriptor say: 0 as it should be. */
static int child(void)
{
	if (iso_tick(&iso, NULL) != -ESRCH)
		return 1;
	if (iso_stop(&iso) != -ESRCH)
		return 2;
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, iso.fd, 0) != MAP_FAILED)
		return 3;
	return close(iso.fd) ? 4 : 0;
}

int main(void)
{
	int status, pipes[2];
	struct worker *w = worker_new(1);
	pid_t pid;
	char c;

	iso_require(2);
	if (pipe(pipes) || iso_pin(1) || iso_start(&iso, 5 * SEC, 0))
		bail_out("start");
	pid = fork();
	if (!pid)
		_exit(child());
	waitpid(pid, &status, 0);
	ok(!status, "tick, stop and mmap in a child: ESRCH (status %#x)", status);
	ok(iso.page->state == ISOLATOR_STATE_ON, "still isolated after the child closed it");
	ok(!iso_tick(&iso, NULL), "and its own tick works");

	pid = fork();	/* keeps the descriptor open */
	if (!pid)
		_exit(read(pipes[0], &c, 1) == 1 ? 0 : 1);
	ok(!iso_stop(&iso), "stop while a child holds the descriptor");
	ok(iso.page->state == ISOLATOR_STATE_ENDED, "ends isolation");
	close(iso.fd);
	iso_pin(0);
	w->tick_ms = 10;
	if (ok(worker_process(w), "another process can isolate the CPU"))
		worker_end(w);
	if (write(pipes[1], "x", 1) != 1)
		bail_out("pipe");
	waitpid(pid, &status, 0);
	ok(!status, "the child is well");
	return done_testing();
}

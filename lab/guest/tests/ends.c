// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: ends
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: every end is named in the page, and the CPU can be isolated again
 */
#include "../test.h"

/*
 * A child that shares our memory but is a process of its own: what ends it, a
 * crash too, leaves its page for us to read.
 */
static struct iso shared;
static _Atomic int started, go;
static volatile int *volatile nowhere;
static char stack[256 * 1024] __attribute__((aligned(16)));

static int isolated_child(void *how)
{
	int error = iso_pin(1) ?: iso_start(&shared, 5 * SEC, 0);

	started = error ? error : 1;
	if (error)
		return 1;
	while (!go)
		;
	switch (*(char *)how) {
	case 'c':	/* crash */
		*nowhere = 1;
		break;
	case 'x':
		execl("/bin/busybox", "busybox", "true", (char *)NULL);
		break;
	case 'f':	/* the descriptor alone ends nothing */
		close(shared.fd);
		go = 2;
		while (go == 2)
			;
		break;
	case 'k':
		for (;;)
			;
	}
	_exit(0);
}

static pid_t begin(const char *how)
{
	pid_t pid;

	started = go = 0;
	pid = clone(isolated_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, (void *)how);
	if (pid < 0)
		bail_out("clone");
	until(started);
	if (!ok(started == 1, "isolated again"))
		diag("%s", strerror(-started));
	return pid;
}

static void ended(pid_t pid, const char *what, unsigned int end)
{
	int status;

	waitpid(pid, &status, 0);
	ok(shared.page->state == ISOLATOR_STATE_ENDED && shared.page->end == end,
	   "%s: state %u, end %u", what, shared.page->state, shared.page->end);
}

/* A child on its own, who was isolated on CPU 1 once, and is on CPU 0 later. */
static _Noreturn void elsewhere(void)
{
	struct iso iso;

	if (iso_pin(1) || iso_start(&iso, 0, 0) || put_file("/proc/isolator/cpus", "0"))
		_exit(1);
	if (iso_stop(&iso) != -ECANCELED)
		_exit(2);
	iso_close(&iso);
	if (iso_pin(0) || iso_start(&iso, 0, 0) || iso_stop(&iso))
		_exit(3);
	_exit(iso_stop(&iso) == -ESRCH ? 0 : 4);
}

static void told_once(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		elsewhere();
	waitpid(pid, &status, 0);
	ok(!status,
	   "after another start and stop, elsewhere, an end of before is not told again (%#x)",
	   status);
	put_file("/proc/isolator/cpus", "1");
}

static void by_admin(void)
{
	struct worker *w = worker_new(1);

	w->tick_ms = 0;
	need_worker(worker_process(w));
	ok(!put_file("/proc/isolator/cpus", "\n"), "the administrator empties the mask");
	ok(worker_runs_on(w), "the task runs on");
	worker_tells(w);
	ok(w->end == ISOLATOR_END_ADMIN,
	   "and its page says admin: %u", w->end);
	w->tick_now++;
	until(w->state == WORKER_OVER);
	ok(w->error == -ECANCELED, "its tick says ECANCELED: %s", strerror(-w->error));
	worker_end(w);
	put_file("/proc/isolator/cpus", "1");
}

int main(void)
{
	struct rlimit none = { 0, 0 };
	pid_t pid;

	iso_require(2);
	setrlimit(RLIMIT_CORE, &none);
	pid = begin("e");
	go = 1;
	ended(pid, "exit", ISOLATOR_END_EXIT);
	pid = begin("c");
	go = 1;
	ended(pid, "crash", ISOLATOR_END_EXIT);
	pid = begin("k");
	kill(pid, SIGKILL);
	ended(pid, "SIGKILL", ISOLATOR_END_EXIT);
	pid = begin("x");
	go = 1;
	ended(pid, "exec", ISOLATOR_END_EXEC);
	pid = begin("f");
	go = 1;
	until(go == 2);
	ok(shared.page->state == ISOLATOR_STATE_ON, "closing the device ends nothing");
	go = 3;
	ended(pid, "exit", ISOLATOR_END_EXIT);
	by_admin();
	told_once();
	ok(file_has("/proc/isolator/status", "isolated \n", NULL), "nothing is left isolated");
	return done_testing();
}

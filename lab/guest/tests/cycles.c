// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: cycles
 * cpus: 4
 * kernel: isolator
 * timeout: 300
 * once: yes
 * alone: yes
 * about: 50 starts and stops under load leave nothing behind (WINDOW_S: 200), nor as static keys flip
 */
#include "residue.h"
#include "tries.h"

/* The keys stay on for a second after the last stop: the test `keys` sees that. */
enum { CYCLES = 50, CYCLES_LONG = 200, LAST_USER = 3, LAST_USER_LONG = 10, LINGER_MS = 1500 };

#define LEAKS	"/sys/kernel/debug/kmemleak"
#define SCHEDSTATS "/proc/sys/kernel/sched_schedstats"

/* Forks, maps and writes: keeps a housekeeping CPU busy until killed. */
static pid_t load(int cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	iso_pin(cpu);
	for (;;) {
		char *p = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		munmap(p, 1 << 18);
		if (!fork())
			_exit(0);
		wait(NULL);
	}
}

/* Another static key, as fast as it goes, while @now: each flip patches the text. */
static pid_t flip_keys(_Atomic bool *now)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	iso_pin(3);
	for (;;) {
		while (!*now)
			sleep_ms(1);	/* sleep: between two looks */
		put_file(SCHEDSTATS, "1");
		put_file(SCHEDSTATS, "0");
	}
}

static int cycle(int count)
{
	struct iso iso;
	int done = 0;

	iso_pin(1);
	for (int i = 0; i < count; i++) {
		int error = iso_start(&iso, 0, 0);

		if (error) {
			diag("start %d: %s", i, strerror(-error));
			break;
		}
		spin_ms(2);
		if (iso_stop(&iso))
			break;
		munmap((void *)iso.page, 4096);
		close(iso.fd);
		done++;
		if (i % 50 == 49)
			diag("%d of %d cycles", i + 1, count);
	}
	iso_pin(0);
	return done;
}

static void scan_leaks(void)
{
	char text[8192];

	if (access(LEAKS, R_OK)) {
		diag("no kmemleak in this kernel");
		return;
	}
	put_file(LEAKS, "scan");
	sleep_ms(6000);		/* sleep: kmemleak reports what is older than 5 s */
	put_file(LEAKS, "scan");
	get_file(LEAKS, text, sizeof(text));
	ok(!strstr(text, "unreferenced"), "kmemleak finds nothing");
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		diag("%s", line);
}

/* Beside a CPU that stays isolated; the deadline misses there. */
static uint64_t beside(void)
{
	int cycles = getenv("WINDOW_S") ? CYCLES_LONG : CYCLES, done;
	struct worker *second = worker_new(2);
	long long all;

	second->tick_ms = 10;
	second->life_s = 600;	/* more than the test may take */
	second->spin_ns = SEC;	/* a busy host holds its CPU for longer than the usual D_spin */
	need_worker(worker_process(second));
	/* What is looked for afterwards must have been seen. */
	ok(timer_active("isolator", -1), "a timer of Isolator's runs while a CPU is isolated");
	sleep_ms(200);	/* sleep: what a start leaves to be asked for has come */
	all = interrupts_all(2);
	done = cycle(cycles);
	all = interrupts_all(2) - all;
	ok(done == cycles, "%d of %d cycles", done, cycles);
	ok(second->end == ISOLATOR_END_NONE, "the CPU that stayed isolated still is");
	worker_end(second);
	/* A deadline miss is an interrupt, too. */
	ok(!all || second->missed, "%lld interrupts there", all);
	return second->missed;
}

int main(void)
{
	int last_user = getenv("WINDOW_S") ? LAST_USER_LONG : LAST_USER, done;
	struct residue before, after;
	pid_t busy[2], keys;
	_Atomic bool *flip;

	iso_require(4);
	look(&before, 1);
	busy[0] = load(0);
	busy[1] = load(3);
	sleep_ms(200);	/* sleep: what their begin asks for has come */
	ok_in_tries("no deadline miss of the CPU that stayed isolated", beside);
	look(&after, 1);
	compare(&before, &after, "after cycles");

	/* Now each stop is the last user's, and the keys go off before the next start. */
	flip = shared_memory(4096);
	keys = flip_keys(flip);
	for (done = 0; done < last_user; done++) {
		*flip = true;
		if (!cycle(1))
			break;
		*flip = false;
		sleep_ms(LINGER_MS);	/* sleep: keys that are let go linger */
	}
	ok(done == last_user, "%d of %d cycles with static keys flipping", done, last_user);
	kill(keys, SIGKILL);
	for (int i = 0; i < 2; i++)
		kill(busy[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	put_file(SCHEDSTATS, "0");
	look(&after, 1);
	compare(&before, &after, "after keys");
	scan_leaks();
	return done_testing();
}

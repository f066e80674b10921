// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: cycles
 * cpus: 4
 * kernel: isolator
 * timeout: 300
 * alone: yes
 * about: 200 starts and stops under load leave nothing behind, nor do 20 with static keys flipping
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../iso.h"
#include "../tap.h"

enum { CYCLES = 200, LAST_USER = 20 };

/*
 * Timer interrupts a second of a CPU whose tick of 1000 Hz runs, whatever else the
 * host does; without a tick it is one or two.
 */
enum { TICK_LEAST = 20, TICK_MOST = 3000 };

#define SERVER	"/sys/kernel/debug/sched/fair_server/cpu1/runtime"
#define LEAKS	"/sys/kernel/debug/kmemleak"
#define SCHEDSTATS "/proc/sys/kernel/sched_schedstats"

/* What must be afterwards as it was before. */
struct residue {
	char affinities[8192];
	char server[64];
	char watchdog[64];
	int tick, looks, lockup, isolator;
	long long loc;		/* timer interrupts a second of a busy CPU 1 */
	bool fair;		/* an ordinary task gets on beside a FIFO one there */
};

static void affinities(char *text, size_t size)
{
	DIR *dir = opendir("/proc/irq");
	struct dirent *entry;
	size_t used = 0;

	text[0] = 0;
	while (dir && (entry = readdir(dir))) {
		char path[300], mask[64];

		snprintf(path, sizeof(path), "/proc/irq/%s/smp_affinity_list", entry->d_name);
		if (!get_file(path, mask, sizeof(mask)) && used < size - 100)
			used += (size_t)snprintf(text + used, size - used, "%s=%s",
						 entry->d_name, mask);
	}
	if (dir)
		closedir(dir);
}

/* Active timers of a CPU, -1 for all, whose function has this in its name. */
static int timers(const char *function, int on)
{
	FILE *f = fopen("/proc/timer_list", "r");
	int cpu = -1, n = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "cpu: %d", &cpu);
		n += (on < 0 || cpu == on) && strstr(line, " #") && strstr(line, function);
	}
	if (f)
		fclose(f);
	return n;
}

/* The fair server of CPU 1 lets an ordinary task run beside the FIFO one. */
static bool fair_runs(void)
{
	_Atomic uint64_t *rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	bool runs;

	if (!pid) {
		iso_pin(1);
		for (;;)
			++*rounds;
	}
	runs = wait_for(rounds, 1, 5000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(rounds, 4096);
	return runs;
}

static void look(struct residue *r)
{
	struct worker *plain = worker_new(1);
	uint64_t began;

	memset(r, 0, sizeof(*r));
	affinities(r->affinities, sizeof(r->affinities));
	get_file(SERVER, r->server, sizeof(r->server));
	get_file("/proc/sys/kernel/watchdog", r->watchdog, sizeof(r->watchdog));
	plain->plain = true;
	if (!worker_process(plain))
		bail_out("no worker");
	began = now_ns();
	r->loc = interrupts("LOC", 1);
	sleep_ms(500);
	/* A sleep may last longer, where the host has other things to do. */
	r->loc = (interrupts("LOC", 1) - r->loc) * (long long)SEC /
		 (long long)(now_ns() - began);
	/* A tick that is being handled is on no list: look more than once. */
	for (; r->looks < 10 && !r->tick; r->looks++)
		r->tick = timers("tick_nohz_handler", 1) + timers("tick_sched_timer", 1);
	r->lockup = timers("watchdog_timer_fn", 1);
	r->isolator = timers("isolator", -1);
	r->fair = fair_runs();
	worker_end(plain);
}

static void compare(const struct residue *a, const struct residue *b, const char *when)
{
	if (!ok(!strcmp(a->affinities, b->affinities), "%s: interrupt affinities are as before",
		when))
		diag("before: %s\nafter: %s", a->affinities, b->affinities);
	ok(a->fair && b->fair && !strcmp(a->server, b->server),
	   "%s: the fair server runs, with its old runtime", when);
	ok(!strcmp(a->watchdog, b->watchdog) && a->lockup == b->lockup,
	   "%s: lockup watchdog timers %d, were %d", when, b->lockup, a->lockup);
	ok(b->tick > 0 && b->loc > TICK_LEAST && b->loc < TICK_MOST,
	   "%s: the tick runs, queued at look %d, %lld timer interrupts a second, were %lld",
	   when, b->looks, b->loc, a->loc);
	ok(!b->isolator, "%s: no timer of Isolator's is left", when);
	ok(file_has("/proc/isolator/status", "isolated \n", NULL), "%s: no CPU is isolated", when);
}

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

static pid_t flip_keys(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	iso_pin(3);
	for (;;) {
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
		uint64_t end;
		int error = iso_start(&iso, 0, 0);

		if (error) {
			diag("start %d: %s", i, strerror(-error));
			break;
		}
		end = now_ns() + 2 * MS;
		while (now_ns() < end)
			;
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
	sleep_ms(6000);		/* kmemleak reports what is older than 5 s */
	put_file(LEAKS, "scan");
	get_file(LEAKS, text, sizeof(text));
	ok(!strstr(text, "unreferenced"), "kmemleak finds nothing");
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		diag("%s", line);
}

int main(void)
{
	struct residue before, after;
	struct worker *second = worker_new(2);
	pid_t busy[2], keys;
	long long all;
	int done;

	iso_require(4);
	look(&before);
	second->tick_ms = 10;
	second->life_s = 300;	/* as long as the test may take */
	second->spin_ns = SEC;	/* a busy host holds its CPU for longer than the usual D_spin */
	if (!worker_process(second))
		bail_out("no second isolated worker");
	busy[0] = load(0);
	busy[1] = load(3);
	sleep_ms(200);
	all = interrupts_all(2);
	done = cycle(CYCLES);
	all = interrupts_all(2) - all;
	ok(done == CYCLES, "%d of %d cycles", done, CYCLES);
	ok(!all, "%lld interrupts on the CPU that stayed isolated", all);
	ok(!second->breaches && second->end == ISOLATOR_END_NONE,
	   "it is still isolated, %lu breaches", second->breaches);
	worker_end(second);
	look(&after);
	compare(&before, &after, "after cycles");

	/* Now each stop is the last user's: the keys go off, too. */
	keys = flip_keys();
	done = cycle(LAST_USER);
	ok(done == LAST_USER, "%d of %d cycles with static keys flipping", done, LAST_USER);
	kill(keys, SIGKILL);
	for (int i = 0; i < 2; i++)
		kill(busy[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	put_file(SCHEDSTATS, "0");
	look(&after);
	compare(&before, &after, "after keys");
	scan_leaks();
	return done_testing();
}

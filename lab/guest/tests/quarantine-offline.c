// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: quarantine-offline
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * memory: 2G
 * append: movablecore=1G
 * timeout: 240
 * long: yes
 * alone: yes
 * about: memory goes offline though its pages were unmapped and wait to be freed
 */
#include "quarantine.h"

#define MEMORY	"/sys/devices/system/memory/"

enum { BIG = 400 << 20, BLOCKS = 64, PATIENCE_S = 20 };

#define PRESENT		(1ULL << 63)
#define FRAME(entry)	((entry) & ((1ULL << 55) - 1))

static unsigned int held[BLOCKS];	/* pages of the mapping in each block */

/* Where the mapping's pages are, which are going to wait. */
static void count_pages(char *p)
{
	static uint64_t entries[BIG / PAGE];
	char text[32];
	size_t block;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (get_file(MEMORY "block_size_bytes", text, sizeof(text)))
		bail_out("no memory hot-plug");
	block = strtoull(text, NULL, 16) / PAGE;
	if (fd < 0 || pread(fd, entries, sizeof(entries), (off_t)((uintptr_t)p / PAGE * 8)) !=
	    (ssize_t)sizeof(entries))
		bail_out("pagemap");
	close(fd);
	for (size_t i = 0; i < BIG / PAGE; i++) {
		size_t n = FRAME(entries[i]) / block;

		if ((entries[i] & PRESENT) && n < BLOCKS)
			held[n]++;
	}
}

static bool movable(int block)
{
	char path[96], zones[64];

	snprintf(path, sizeof(path), MEMORY "memory%d/valid_zones", block);
	return !get_file(path, zones, sizeof(zones)) && !strncmp(zones, "Movable", 7);
}

/*
 * Another process takes the blocks, made before there is anything to wait for: a fork flushes,
 * which the isolated thread enters the kernel for.
 */
static struct helper {
	_Atomic uint64_t asked, answered;
	int block;
	char state[32];
	bool done;
} *helper;

static void no_patience(int sig)
{
	(void)sig;
}

static _Noreturn void help(void)
{
	/* Without that it would be tried for ever: no SA_RESTART. */
	struct sigaction sa = { .sa_handler = no_patience };
	char path[96];

	sigaction(SIGALRM, &sa, NULL);
	for (;;) {
		while (helper->asked == helper->answered)
			sleep_ms(1);	/* sleep: between two looks */
		snprintf(path, sizeof(path), MEMORY "memory%d/state", helper->block);
		alarm(PATIENCE_S);
		helper->done = !put_file(path, helper->state);
		alarm(0);
		helper->answered++;
	}
}

static bool set(int block, const char *state)
{
	helper->block = block;
	snprintf(helper->state, sizeof(helper->state), "%s", state);
	helper->asked++;
	/* With KASAN a try that was told to end goes on for more than a minute. */
	if (!comes_within(helper->answered == helper->asked, 600000))
		bail_out("who takes blocks does not answer");
	return helper->done;
}

/* The next block below that can be taken and has pages of the mapping, 0: none. */
static int below(int block)
{
	while (--block > 0) {
		if (held[block] >= 1000 && movable(block))
			break;
	}
	return block;
}

int main(void)
{
	bool gone = false;
	struct worker *w;
	uint64_t ticks;
	char *old, *p;
	int block;
	pid_t pid;

	iso_require(2);
	helper = shared_memory(sizeof(*helper));
	pid = fork();
	if (!pid)
		help();
	old = limit_now();
	if (put_file(LIMIT, "quarantine_bytes 600000000"))
		bail_out("limit");
	w = reader(10);
	p = map_watched(BIG, 1);
	count_pages(p);
	/*
	 * Locked, they do not move.  Slabs are flushed before that is seen: by a thread of each CPU
	 * that has some, the isolated one's at a tick.  From then on it has none, and nothing but
	 * the quarantine to enter the kernel for.
	 */
	for (block = below(BLOCKS); block && !gone; block = below(block))
		gone = set(block, "offline");
	ok(!gone, "no block with its pages goes offline");
	w->tick_ms = 0;
	munmap(p, BIG);
	ok(quarantined() >= BIG, "%lu MiB wait", quarantined() >> 20);
	ticks = w->ticks;
	/* A block may have pages that do not move, as some of the process that are mapped. */
	for (block = below(BLOCKS); block && !gone && quarantined(); block = below(block)) {
		gone = set(block, "offline");
		diag("block %d with %u of the pages: %sgone", block, held[block],
		     gone ? "" : "not ");
		if (gone)
			set(block, "online_movable");
	}
	ok(!quarantined() && w->ticks == ticks,
	   "who takes memory offline has them freed, without a tick");
	w->tick_ms = 10;
	for (block = below(BLOCKS); block && !gone; block = below(block)) {
		gone = set(block, "offline");
		diag("block %d: %sgone", block, gone ? "" : "not ");
		if (gone)
			ok(set(block, "online_movable"), "it comes back");
	}
	ok(gone, "a block goes offline");
	worker_end(w);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(!put_file(LIMIT, old), "the limit is what it was");
	return done_testing();
}

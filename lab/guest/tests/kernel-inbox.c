// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-inbox
 * cpus: 3
 * kernel: isolator
 * timeout: 300
 * append: irqaffinity=0
 * about: processes post to a loop of the kernel and die; it posts to an inbox of a process
 */
#include <isolator.h>
#include <linux/isolator_ring.h>
#include "traffic.h"

enum { POSTERS = 8, KILLED = 3, KILLS = 40, LETTERS = 3000, SLOTS = 64, FROM_KERNEL = 20000 };

/* What each poster has begun and done, for whoever comes after it. */
struct desk {
	_Atomic uint64_t begun, done;
};

static struct desk *desks;

static int make(void)
{
	struct isolator_inbox_options options = ISOLATOR_INBOX_OPTIONS_INIT;
	int fd;

	options.posters = POSTERS;
	options.slots = SLOTS;
	fd = isolator_inbox_create(&options);
	if (fd < 0)
		bail_out("an inbox");
	return fd;
}

/* Numbers rise by one, but where somebody died with one in hand. */
static void post(int fd, unsigned int poster, uint64_t count)
{
	struct isolator_channel *channel;
	struct desk *desk = &desks[poster];

	if (isolator_inbox_join(fd, poster, &channel) < 0)
		_exit(1);
	while (desk->begun < count) {
		uint64_t number = desk->begun++;

		while (isolator_post(channel, 1, &number, sizeof(number)) == -EAGAIN)
			sched_yield();
		desk->done++;
	}
	_exit(0);
}

static pid_t poster(int fd, unsigned int number, uint64_t count)
{
	pid_t pid = fork();

	if (!pid)
		post(fd, number, count);
	return pid;
}

static uint64_t all_done(void)
{
	uint64_t done = 0;

	for (unsigned int i = 0; i < POSTERS; i++)
		done += desks[i].done;
	return done;
}

/* Some of them are killed again and again; the others get all theirs through. */
static void letters(int fd)
{
	pid_t pid[POSTERS];
	unsigned int kills = 0;
	uint64_t count = scaled(LETTERS), done;
	bool all = true;
	int status;

	ok(!order("inbox %d", fd), "the kernel receives");
	for (unsigned int i = 0; i < POSTERS; i++)
		pid[i] = poster(fd, i, i < KILLED ? UINT64_MAX : count);
	for (; kills < KILLS; kills++) {
		unsigned int who = kills % KILLED;

		sleep_ms(1 + kills % 7);	/* sleep: it is killed wherever it is by then */
		kill(pid[who], SIGKILL);
		waitpid(pid[who], NULL, 0);
		pid[who] = poster(fd, who, UINT64_MAX);
	}
	for (unsigned int i = KILLED; i < POSTERS; i++)
		all &= waitpid(pid[i], &status, 0) == pid[i] && !status;
	ok(all, "%d posters are through, while %u were killed", POSTERS - KILLED, kills);
	for (unsigned int i = 0; i < KILLED; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	kills += KILLED;
	done = all_done();
	ok(comes(told("received") >= done, 20000) && told("received") <= done + kills,
	   "%llu of %llu messages came, and no more than %u of the dead", told("received"),
	   (unsigned long long)done, kills);
	/* One of a death: the number that it took with it. */
	ok(told("wrong") <= kills && !told("gaps"), "%llu numbers are left out, %llu gaps",
	   told("wrong"), told("gaps"));
}

/* Messages of one poster; how they came is in the module's parameters then. */
static unsigned long long came(unsigned int who)
{
	return order("sender %u", who) ? 0 : told("sender_received");
}

/* One poster lies all the time: the others' messages come, all and in order. */
static void with_a_liar(int fd)
{
	size_t lane = isolator_ring_lane_bytes(SLOTS);
	uint64_t before, count = scaled(LETTERS);
	pid_t pid[POSTERS], liar;

	memset(desks, 0, POSTERS * sizeof(*desks));
	ok(!order("inbox %d", fd), "the kernel receives");
	liar = fork();
	if (!liar) {
		volatile uint64_t *memory = mmap(NULL, lane, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
						 ISOLATOR_RING_HEADER);
		uint64_t state = 0x9e3779b97f4a7c15ULL;

		if (memory == MAP_FAILED)
			_exit(1);
		for (;;) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			memory[state % (lane / 8)] = state % 3 ? state : state & 0xffffff;
		}
	}
	for (unsigned int i = 1; i < POSTERS; i++)
		pid[i] = poster(fd, i, count);
	for (unsigned int i = 1; i < POSTERS; i++)
		waitpid(pid[i], NULL, 0);
	before = all_done();
	ok(before == (POSTERS - 1) * count, "all others are through");
	kill(liar, SIGKILL);
	waitpid(liar, NULL, 0);
	ok(comes(told("received") >= before, 20000), "%llu messages, %llu gaps", told("received"),
	   told("gaps"));
	for (unsigned int i = 1; i < POSTERS; i++)
		ok(comes(came(i) >= count, 20000) && came(i) == count && !told("sender_wrong") &&
		   !told("sender_gaps"),
		   "%llu of poster %u, %llu in disorder, %llu gaps", told("sender_received"), i,
		   told("sender_wrong"), told("sender_gaps"));
	ok(!caller_state(TRAFFIC) && caller_polls(TRAFFIC), "isolated, polling");
}

struct ears {
	uint64_t next, wrong;
};

static void hear(void *context, unsigned int type, const void *data, size_t length)
{
	struct ears *ears = context;
	uint64_t number = 0;

	memcpy(&number, data, length < 8 ? length : 8);
	if (type != 1 || length != 8 || number != ears->next)
		ears->wrong++;
	ears->next = number + 1;
}

/* The other way: the kernel is one of the posters. */
static void from_kernel(void)
{
	uint64_t end = now_ns() + 60 * SEC, count = scaled(FROM_KERNEL);
	struct isolator_inbox *inbox;
	struct ears ears = { 0 };
	int fd = make();

	ok(!order("poster %d 5", fd), "the kernel posts");
	ok(order("poster %d %d", fd, POSTERS) == -EINVAL, "not as one that is not there");
	ok(!order("poster %d 5", fd), "the kernel posts again");
	if (isolator_inbox_open(fd, 0, &inbox))
		bail_out("the inbox");
	isolator_inbox_register(inbox, 1, hear, &ears);
	isolator_inbox_register(inbox, ISOLATOR_TYPE_GAP, hear, &ears);
	/* What the first time left in the lane, before its numbers begin again. */
	while (!ears.wrong && ears.next < SLOTS && now_ns() < end)
		isolator_inbox_poll(inbox, 1);
	while (ears.next < count && now_ns() < end)
		isolator_inbox_poll(inbox, 16);
	ok(ears.next >= count && ears.wrong <= 1, "%llu messages, %llu in disorder",
	   (unsigned long long)ears.next, (unsigned long long)ears.wrong);
	ok(!order("nothing"), "it stops");
	isolator_inbox_close(inbox);
	close(fd);
}

int main(void)
{
	int fd;

	iso_require(3);
	desks = shared_memory(POSTERS * sizeof(*desks));
	caller_start(TRAFFIC);
	fd = make();
	letters(fd);
	close(fd);
	fd = make();
	with_a_liar(fd);
	close(fd);
	from_kernel();
	ok(!caller_state(TRAFFIC) && caller_polls(TRAFFIC), "still isolated, still polling");
	caller_kept();
	caller_stop(TRAFFIC, "stop");
	return done_testing();
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A peer is killed after each instruction of post and of poll in turn.  The other
 * side goes on, a new peer takes the place, and nothing is lost or comes twice but
 * what a gap reports.
 */
#include "check.h"
#include "pair.h"
#include "traced.h"

#define SLOTS		8U
#define LONG_BYTES	(3 * ISOLATOR_SLOT_BYTES)
#define MESSAGES	4096U
#define STEPS_MAX	20000U
/* Enough for a closer look at every slot. */
#define IDLE_POLLS	(3U * 1024 * SLOTS / 4)

/* Shared with the peer that is killed. */
static struct {
	volatile enum phase phase;
	/* Per message: its callback was entered, and has returned. */
	volatile unsigned char entered[MESSAGES], returned[MESSAGES];
} *peer;

/* What this process has received, by message and by slot. */
static unsigned char received[MESSAGES];
static unsigned int last;
static uint64_t gap_first, gap_slots;
static unsigned int gaps;

struct message {
	uint32_t number;
	unsigned char fill[LONG_BYTES - 4];
};

static size_t length_of(unsigned int number, bool with_long)
{
	return with_long && number % 3 == 1 ? LONG_BYTES : 16;
}

static int post_number(struct isolator_channel *channel, unsigned int number, bool with_long)
{
	struct message message = { .number = number };

	memset(message.fill, (int)number, sizeof(message.fill));
	return isolator_post(channel, 1, &message, length_of(number, with_long));
}

/* Checks what came as a whole: torn would be something else than one number. */
static unsigned int number_in(const void *data, size_t length)
{
	const struct message *message = data;

	for (size_t i = 4; i < length; i++)
		CHECK_EQUAL(message->fill[i - 4], (unsigned char)message->number);
	CHECK(message->number < MESSAGES);
	return message->number % MESSAGES;
}

static void hear(void *context, unsigned int type, const void *data, size_t length)
{
	unsigned int number;

	(void)context;
	if (type == ISOLATOR_TYPE_GAP) {
		const struct isolator_gap *gap = data;

		gaps++;
		gap_first = gap->first;
		gap_slots = gap->slots;
		return;
	}
	number = number_in(data, length);
	CHECK(received[number] == 0 && (number > last || last == 0));
	received[number]++;
	last = number;
}

/*
 * In the peer: what is handled is marked, and answered.  Short, since each of its
 * instructions is one more death.
 */
static void hear_and_answer(void *context, unsigned int type, const void *data, size_t length)
{
	unsigned int number;

	if (type == ISOLATOR_TYPE_GAP)
		return;
	number = ((const struct message *)data)->number;
	peer->entered[number]++;
	isolator_post(context, 1, data, length);
	peer->returned[number]++;
}

static struct isolator_channel *open_side(int fd, unsigned int side, isolator_callback callback)
{
	struct isolator_channel *channel = NULL;

	CHECK_EQUAL(isolator_channel_open(fd, side, &channel), 0);
	if (!channel)
		exit(1);
	isolator_channel_register(channel, 1, callback, channel);
	isolator_channel_register(channel, ISOLATOR_TYPE_GAP, callback, channel);
	return channel;
}

static void poll_all(struct isolator_channel *channel)
{
	for (unsigned int idle = 0; idle < IDLE_POLLS; idle++)
		if (isolator_poll(channel, 3) > 0)
			idle = 0;
}

/* Some laps with both sides well: all arrives, in order, without a gap. */
static void all_is_well(struct isolator_channel *from, struct isolator_channel *to,
			unsigned int number)
{
	unsigned int before = gaps;

	for (unsigned int i = number; i < number + 4 * SLOTS; i++) {
		CHECK_EQUAL(post_number(from, i, true), 0);
		CHECK_EQUAL(isolator_poll_now(to, 1), 1);
		CHECK_EQUAL(received[i], 1);
	}
	CHECK_EQUAL(gaps, before);
}

struct scene {
	bool with_long;
	unsigned int before;	/* messages posted, all but @kept handled, before */
	unsigned int kept;
	bool overrun;		/* the poster was told that all of it is free */
	unsigned int max;	/* of the poll that is killed */
};

struct start {
	int fd;
	const struct scene *scene;
};

/* The child: what comes before, then the call whose instructions are counted. */
static void poster(void *argument)
{
	const struct start *start = argument;
	const struct scene *scene = start->scene;
	struct isolator_channel *channel = open_side(start->fd, ISOLATOR_SIDE_A, hear);

	raise(SIGSTOP);
	peer->phase = INSIDE;
	post_number(channel, scene->before + 1, scene->with_long);
	peer->phase = AFTER;
	_exit(0);
}

static void poller(void *argument)
{
	const struct start *start = argument;
	struct isolator_channel *channel = open_side(start->fd, ISOLATOR_SIDE_B,
						     hear_and_answer);

	raise(SIGSTOP);
	peer->phase = INSIDE;
	isolator_poll(channel, start->scene->max);
	peer->phase = AFTER;
	_exit(0);
}

static void kill_after(void (*body)(void *), int fd, const struct scene *scene,
		       unsigned int steps)
{
	struct start start = { fd, scene };

	traced_kill(body, &start, &peer->phase, steps);
}

static int begin(const struct scene *scene, struct isolator_channel **a,
		 struct isolator_channel **b)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	int fd;

	options.slots = SLOTS;
	options.message_bytes = LONG_BYTES;
	fd = isolator_channel_create(&options);
	CHECK(fd >= 0);
	memset(received, 0, sizeof(received));
	memset((void *)peer, 0, sizeof(*peer));
	last = gaps = 0;
	gap_slots = 0;
	*a = open_side(fd, ISOLATOR_SIDE_A, hear);
	*b = open_side(fd, ISOLATOR_SIDE_B, hear);
	for (unsigned int i = 1; i <= scene->before; i++) {
		CHECK_EQUAL(post_number(*a, i, scene->with_long), 0);
		if (i <= scene->before - scene->kept)
			CHECK_EQUAL(isolator_poll_now(*b, 1), 1);
	}
	return fd;
}

static void kill_poster(const struct scene *scene)
{
	unsigned int steps;
	bool done = false;

	for (steps = 0; !done && steps < STEPS_MAX && !check_failed; steps++) {
		struct isolator_channel *a, *b;
		int fd = begin(scene, &a, &b);
		unsigned int inside = scene->before + 1;

		if (scene->overrun)
			b->rx.own->taken = b->rx.own->released = a->tx.next;
		isolator_channel_close(a);
		kill_after(poster, fd, scene, steps);
		done = peer->phase == AFTER;
		poll_all(b);
		/* What it was about to overwrite came whole, or is a gap. */
		for (unsigned int i = 1; i < inside; i++)
			CHECK(received[i] == 1 || (scene->overrun && i == 1 && gaps == 1));
		if (done)
			CHECK_EQUAL(received[inside], 1);
		a = open_side(fd, ISOLATOR_SIDE_A, hear);
		all_is_well(a, b, 1000);
		CHECK(gaps <= scene->overrun);
		CHECK_EQUAL(pair_stats(b).invalid, 0);
		isolator_channel_close(a);
		isolator_channel_close(b);
		close(fd);
		if (check_failed)
			printf("# killed after %u instructions\n", steps);
	}
	CHECK(done && steps > 30);
	printf("# %u instructions\n", steps - 1);
}

/* Which message lies in slot @slot, counted from 1 as the messages are. */
static unsigned int message_at(uint64_t slot, const struct scene *scene)
{
	uint64_t at = 0;

	for (unsigned int number = 1; number < MESSAGES; number++) {
		at += length_of(number, scene->with_long) > ISOLATOR_SLOT_BYTES ? 3 : 1;
		if (slot < at)
			return number;
	}
	return 0;
}

static void judge_poller(const struct scene *scene)
{
	unsigned int first = scene->before - scene->kept + 1;

	CHECK(gaps <= 1);
	for (unsigned int i = first; i <= scene->before; i++) {
		bool reported = gaps && i >= message_at(gap_first, scene) &&
				i <= message_at(gap_first + gap_slots - 1, scene);

		/* Once at most; and not once only when a gap says so. */
		CHECK(peer->entered[i] + received[i] <= 1);
		CHECK(peer->returned[i] + received[i] == 1 || reported);
	}
}

static void kill_poller(const struct scene *scene)
{
	unsigned int steps, doubtful = 0;
	bool done = false;

	for (steps = 0; !done && steps < STEPS_MAX && !check_failed; steps++) {
		struct isolator_channel *a, *b;
		int fd = begin(scene, &a, &b);
		unsigned int answers = 0;

		isolator_channel_close(b);
		kill_after(poller, fd, scene, steps);
		done = peer->phase == AFTER;
		/* The answers of the dead: those of whom it says so, and one at most
		 * that it did not live to say it of.
		 */
		isolator_channel_register(a, 1, hear, a);
		last = 0;
		for (unsigned int i = 0; i < scene->before; i++)
			answers += isolator_poll_now(a, 1) > 0;
		for (unsigned int i = 1; i <= scene->before; i++) {
			CHECK(i <= scene->before - scene->kept || received[i] >= peer->returned[i]);
			answers -= i > scene->before - scene->kept && peer->returned[i];
		}
		CHECK(answers <= 1);
		memset(received, 0, sizeof(received));
		last = 0;
		b = open_side(fd, ISOLATOR_SIDE_B, hear);
		poll_all(b);
		judge_poller(scene);
		doubtful += gaps;
		all_is_well(a, b, 1000);
		last = 0;
		all_is_well(b, a, 2000);
		isolator_channel_close(a);
		isolator_channel_close(b);
		close(fd);
		if (check_failed)
			printf("# killed after %u instructions\n", steps);
	}
	/* In a callback it dies too, and then says so. */
	CHECK(done && steps > 100 && doubtful > 10);
	printf("# %u instructions, %u with a gap\n", steps - 1, doubtful);
}

#define POSTER(name, ...) \
	static void name(void) { static const struct scene scene = { __VA_ARGS__ }; kill_poster(&scene); }
#define POLLER(name, ...) \
	static void name(void) { static const struct scene scene = { __VA_ARGS__ }; kill_poller(&scene); }

POSTER(post_first, .before = 0)
POSTER(post_later, .before = 13, .kept = 2)
POSTER(post_seems_full, .before = 8, .kept = 7)
POSTER(post_overrun, .before = 8, .kept = 8, .overrun = true)
POSTER(post_long, .with_long = true, .before = 0)
POSTER(post_long_later, .with_long = true, .before = 12, .kept = 1)
POLLER(poll_one, .before = 1, .kept = 1, .max = 1)
POLLER(poll_many, .before = 17, .kept = 6, .max = 2)
POLLER(poll_long, .with_long = true, .before = 10, .kept = 4, .max = 1)

static const struct test tests[] = {
	{ "post, first of all", post_first },
	{ "post, in a later lap with messages waiting", post_later },
	{ "post, into the last free slot", post_seems_full },
	{ "post over one that waits, because of a lie", post_overrun },
	{ "post of one slot, where long ones were", post_long },
	{ "post of three slots, over the end of the ring", post_long_later },
	{ "poll of one message, answered", poll_one },
	{ "poll of several, answered", poll_many },
	{ "poll of long ones, answered", poll_long },
};

int main(void)
{
	if (!traced_allowed()) {
		printf("1..0 # SKIP ptrace is not allowed here\n");
		return 0;
	}
	peer = mmap(NULL, sizeof(*peer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (peer == MAP_FAILED)
		return 1;
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

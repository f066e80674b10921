// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Between any two instructions of post and of poll, the other side does something.
 * Nothing is torn, doubled, out of order or lost without a gap.
 */
#include "check.h"
#include "pair.h"
#include "traced.h"

#define SLOTS		8U
#define LONG_BYTES	(3 * ISOLATOR_SLOT_BYTES)
#define STEPS_MAX	5000U

/* What the child and this process share; each writes what it has heard. */
static struct {
	volatile enum phase phase;
	struct log {
		volatile unsigned int messages, last, wrong, gaps, lost;
	} of_child, of_parent;
} *both;

static int fd;

static int post_number(struct isolator_channel *channel, unsigned int number, size_t length)
{
	unsigned int words[LONG_BYTES / 4];

	for (size_t i = 0; i < LONG_BYTES / 4; i++)
		words[i] = number;
	return isolator_post(channel, 1, words, length);
}

static void hear(void *context, unsigned int type, const void *data, size_t length)
{
	const unsigned int *words = data;
	struct log *log = context;

	if (type == ISOLATOR_TYPE_GAP) {
		log->gaps++;
		log->lost += (unsigned int)((const struct isolator_gap *)data)->slots;
		return;
	}
	log->messages++;
	/* Torn, or not in order.  The first word and each slot's last will do: at one of
	 * the steps it is torn between them.
	 */
	for (size_t i = ISOLATOR_SLOT_BYTES / 4 - 1; i < length / 4; i += ISOLATOR_SLOT_BYTES / 4)
		log->wrong += words[i] != words[0];
	log->wrong += words[0] <= log->last;
	log->last = words[0];
}

static struct isolator_channel *open_side(unsigned int side, struct log *log)
{
	struct isolator_channel *channel = NULL;

	CHECK_EQUAL(isolator_channel_open(fd, side, &channel), 0);
	if (!channel)
		exit(1);
	isolator_channel_register(channel, 1, hear, log);
	isolator_channel_register(channel, ISOLATOR_TYPE_GAP, hear, log);
	return channel;
}

static void poll_all(struct isolator_channel *channel)
{
	for (unsigned int i = 0; i < 8 * PATIENCE; i++)
		isolator_poll(channel, 3);
}

struct scene {
	bool child_posts;
	size_t length;
	unsigned int before;	/* messages posted before the call that is stepped */
	/* What the other side does in between; @channel is its. */
	void (*between)(struct isolator_channel *channel, const struct scene *scene);
	void (*judge)(const struct scene *scene);
};

static void child(void *argument)
{
	const struct scene *scene = argument;
	struct isolator_channel *channel = open_side(scene->child_posts ? ISOLATOR_SIDE_A
							: ISOLATOR_SIDE_B, &both->of_child);
	int posted;

	/* The poll that is stepped takes a closer look when it finds nothing. */
	isolator_poll_now(channel, 0);
	channel->view.patience = 1;
	raise(SIGSTOP);
	both->phase = INSIDE;
	if (scene->child_posts) {
		posted = post_number(channel, 100, scene->length);
		both->phase = AFTER;
		while (posted < 0)
			posted = post_number(channel, 100, scene->length);
		_exit(post_number(channel, 101, scene->length) < 0);
	}
	isolator_poll(channel, 1);
	both->phase = AFTER;
	poll_all(channel);
	_exit(0);
}

/* The child goes @steps far, then the other side has its turn, then the child ends. */
static bool once(const struct scene *scene, unsigned int steps)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct isolator_channel *channel, *first;
	int status = -1;
	bool inside;
	pid_t pid;

	options.slots = SLOTS;
	options.message_bytes = LONG_BYTES;
	fd = isolator_channel_create(&options);
	memset((void *)both, 0, sizeof(*both));
	first = open_side(ISOLATOR_SIDE_A, &both->of_parent);
	for (unsigned int i = 1; i <= scene->before; i++)
		CHECK_EQUAL(post_number(first, i, scene->length), 0);
	channel = first;
	if (scene->child_posts) {
		isolator_channel_close(first);
		channel = open_side(ISOLATOR_SIDE_B, &both->of_parent);
	}
	pid = traced_into(child, (void *)(uintptr_t)scene, &both->phase, steps);
	inside = both->phase == INSIDE;
	scene->between(channel, scene);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	CHECK_EQUAL(status, 0);
	if (scene->child_posts)
		poll_all(channel);
	CHECK_EQUAL(both->of_child.wrong + both->of_parent.wrong, 0);
	scene->judge(scene);
	isolator_channel_close(channel);
	close(fd);
	return inside;
}

static void each(const struct scene *scene)
{
	unsigned int steps = 0;

	while (once(scene, steps) && !check_failed && steps < STEPS_MAX)
		steps++;
	printf("# %s%u instructions\n", check_failed ? "failed after " : "", steps);
	CHECK(steps > 30 && steps < STEPS_MAX);
}

/* Because of a lie all that waits is overwritten. */
static void overrun(struct isolator_channel *channel, const struct scene *scene)
{
	struct isolator_receiver_line *line = channel->tx.other;

	line->taken = line->released = channel->tx.next;
	for (unsigned int i = 1; i <= SLOTS * ISOLATOR_SLOT_BYTES / scene->length; i++)
		post_number(channel, scene->before + i, scene->length);
}

static void overrun_is_a_gap(const struct scene *scene)
{
	const struct log *log = &both->of_child;

	CHECK(log->gaps >= 1 || log->messages >= scene->before);
	CHECK(log->messages + log->lost >= scene->before);
}

static void post_two(struct isolator_channel *channel, const struct scene *scene)
{
	CHECK_EQUAL(post_number(channel, scene->before + 1, scene->length), 0);
	CHECK_EQUAL(post_number(channel, scene->before + 2, scene->length), 0);
}

static void child_has_all(const struct scene *scene)
{
	CHECK_EQUAL(both->of_child.messages, scene->before + 2);
	CHECK_EQUAL(both->of_child.gaps, 0);
}

static void poll_some(struct isolator_channel *channel, const struct scene *scene)
{
	(void)scene;
	isolator_poll(channel, 2);
}

static void poll_until_empty(struct isolator_channel *channel, const struct scene *scene)
{
	(void)scene;
	poll_all(channel);
}

static void parent_has_all(const struct scene *scene)
{
	CHECK_EQUAL(both->of_parent.messages, scene->before + 2);
	CHECK_EQUAL(both->of_parent.gaps, 0);
}

#define BETWEEN(name, ...) \
	static void name(void) { static const struct scene scene = { __VA_ARGS__ }; each(&scene); }

BETWEEN(poll_overrun, .length = 56, .before = 8, .between = overrun, .judge = overrun_is_a_gap)
BETWEEN(poll_long_overrun, .length = LONG_BYTES, .before = 2, .between = overrun,
	.judge = overrun_is_a_gap)
BETWEEN(poll_nothing_posted, .length = 56, .between = post_two, .judge = child_has_all)
BETWEEN(poll_one_posted, .length = 56, .before = 3, .between = post_two,
	.judge = child_has_all)
BETWEEN(post_polled, .child_posts = true, .length = 56, .before = 2, .between = poll_some,
	.judge = parent_has_all)
BETWEEN(post_long_polled, .child_posts = true, .length = LONG_BYTES, .between = poll_until_empty,
	.judge = parent_has_all)
BETWEEN(post_full_polled, .child_posts = true, .length = 56, .before = 8,
	.between = poll_until_empty, .judge = parent_has_all)

static const struct test tests[] = {
	{ "poll of a message that is overwritten", poll_overrun },
	{ "poll of a long message that is overwritten", poll_long_overrun },
	{ "poll that finds nothing, two are posted", poll_nothing_posted },
	{ "poll that finds one, two are posted", poll_one_posted },
	{ "post, the other side polls", post_polled },
	{ "post of three slots, the other side polls", post_long_polled },
	{ "post into a full ring, the other side polls", post_full_polled },
};

int main(void)
{
	if (!traced_allowed()) {
		printf("1..0 # SKIP ptrace is not allowed here\n");
		return 0;
	}
	both = mmap(NULL, sizeof(*both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (both == MAP_FAILED)
		return 1;
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

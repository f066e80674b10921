// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the programs of isolator-bpf count, when an interrupt comes amid one of them: at each of
 * its accesses to memory and each of its calls of the kernel in turn (fakebpf/).  The kernel
 * runs sched_switch with interrupts off, and those of hard interrupts too: amid these comes an
 * NMI, amid the former nothing.
 */
#include "check.h"
#include "fakebpf/story.h"

#define TOLD_MOST 5		/* failures of one kind */

enum how {
	EACH,			/* once, at each step */
	TIMED,			/* the same, and each step takes a ns */
	TWICE,			/* the second as soon as the first is over */
	CALLS,			/* at each two calls of the kernel */
};

static char words[256];

#define SAY(...) (snprintf(words, sizeof(words), __VA_ARGS__), words)
#define N(ns) ((long long)(ns))

static const char *wrong_sum(const struct want *want, __u64 times)
{
	__u64 sum = sum_of(want->type, want->who, want->comm);

	if (sum == want->ns * times)
		return NULL;
	return SAY("type %u, who %llx has %lld ns, not %lld", want->type,
		   (unsigned long long)want->who, N(sum), N(want->ns * times));
}

static const char *wrong_sums(const struct story *story, const struct interruption *came,
			      __u64 times)
{
	const char *what = NULL;

	for (const struct want *want = story->wants; !what && want->ns; want++)
		what = wrong_sum(want, 1);
	for (const struct want *want = came->wants; !what && want->ns; want++)
		what = wrong_sum(want, times);
	return what;
}

/* Losses of the story and of what came @times, which is as exact as programs take no time. */
static const char *wrong_losses(const struct story *story, __u64 times)
{
	__u64 want = story->lost + times * LONG, unexplained = story->unexplained;
	struct lost lost = losses();

	if (lost.over || lost.overlap)
		return SAY("%lld ns lost, %lld explained%s", N(lost.ns), N(lost.explained),
			   lost.overlap ? ", losses overlap" : "");
	if (fake.ticks)
		return NULL;
	for (size_t i = 0; i < 2 && fake.met[i]; i++) {
		if (story->free && strstr(fake.met[i], story->free))
			want -= LONG;
		/* Within the loss that is about to be open, and not yet among its parts. */
		if (strstr(fake.met[i], "_begins"))
			unexplained += LONG;
	}
	if (lost.ns != want)
		return SAY("%lld ns lost, not %lld", N(lost.ns), N(want));
	if (lost.ns > lost.explained + unexplained)
		return SAY("%lld ns lost, %lld explained", N(lost.ns), N(lost.explained));
	return NULL;
}

/* NULL or what is wrong where @came has come @times. */
static const char *wrong(const struct story *story, const struct interruption *came, __u64 times)
{
	const struct record_state *s = state();
	const char *what;

	if (s->depth || s->adding)
		return SAY("depth is %u, adding %u", s->depth, s->adding);
	for (int i = 1; i < RECORD_FRAMES; i++)
		if (s->frames[i].nested_ns)
			return SAY("%lld ns are left in frame %d", N(s->frames[i].nested_ns), i);
	if (s->unmatched != story->unmatched || s->uncounted || s->crowded || s->unseen)
		return SAY("unmatched %lld, uncounted %lld, crowded %lld, unseen %lld",
			   N(s->unmatched), N(s->uncounted), N(s->crowded), N(s->unseen));
	if (total() != fake.now - began)
		return SAY("all had the CPU for %lld ns of %lld", N(total()), N(fake.now - began));
	what = wrong_losses(story, times);
	return what || fake.ticks ? what : wrong_sums(story, came, times);
}

/* How many steps the story has where @came may come. */
static unsigned int tell(const struct story *story, const struct interruption *came, enum how how,
			 unsigned int first, unsigned int second)
{
	set_up(story->first);
	if (story->unknown)
		state()->frames[0].known = 0;
	nmis = came->nmi;
	fake.ticks = how == TIMED;
	fake.calls = how == CALLS;
	fake.interrupt = came->come;
	fake.at[0] = first;
	fake.at[1] = second;
	story->happen();
	if (story->unknown)
		began = state()->frames[0].since_ns;
	return fake.step;
}

struct sweep {
	unsigned int runs, failures;
};

static void try(struct sweep *sweep, const struct story *story, const struct interruption *came,
		enum how how, unsigned int first, unsigned int second)
{
	const char *what = NULL;
	unsigned int times;

	tell(story, came, how, first, second);
	times = !!fake.met[0] + !!fake.met[1];
	/* After the first one the second may find less steps. */
	if (times != 1U + !!second && how != CALLS)
		what = "it did not come";
	if (!what)
		what = wrong(story, came, times);
	sweep->runs++;
	if (what && sweep->failures++ < TOLD_MOST)
		printf("# %s amid %s, step %u in %s%s%s: %s\n", came->name, story->name, first,
		       fake.met[0] ? fake.met[0] : "", fake.met[1] ? ", and in " : "",
		       fake.met[1] ? fake.met[1] : "", what);
}

static void sweep(const struct story *story, const struct interruption *came, enum how how)
{
	unsigned int steps = tell(story, came, how, 0, 0);
	struct sweep sweep = { 0 };

	for (unsigned int first = 1; first <= steps; first++)
		if (how == CALLS)
			for (unsigned int second = first; second <= steps; second++)
				try(&sweep, story, came, how, first, second);
		else
			try(&sweep, story, came, how, first, how == TWICE ? first : 0);
	if (sweep.failures)
		printf("# %s amid %s: %u of %u\n", came->name, story->name, sweep.failures,
		       sweep.runs);
	CHECK(!sweep.failures && sweep.runs >= steps && steps > 10);
}

static void sweep_all(enum how how)
{
	for (size_t i = 0; i < nr_stories; i++)
		for (size_t j = 0; j < nr_interruptions; j++)
			if (!(stories[i].soft && interruptions[j].soft))
				sweep(&stories[i], &interruptions[j], how);
}

static void test_plain(void)
{
	for (size_t i = 0; i < nr_stories; i++) {
		const char *what;

		tell(&stories[i], &interruptions[0], EACH, 0, 0);
		what = wrong(&stories[i], &interruptions[0], 0);
		if (what)
			printf("# %s: %s\n", stories[i].name, what);
		CHECK(!what);
	}
}

static void test_each(void)
{
	sweep_all(EACH);
}

static void test_timed(void)
{
	sweep_all(TIMED);
}

static void test_twice(void)
{
	sweep_all(TWICE);
}

static void test_calls(void)
{
	sweep_all(CALLS);
}

static const struct test tests[] = {
	{ "each one's own time, and losses with their parts", test_plain },
	{ "an interrupt at each step", test_each },
	{ "an interrupt at each step of programs that take time", test_timed },
	{ "two at once at each step", test_twice },
	{ "one at each two calls of the kernel", test_calls },
};

int main(void)
{
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

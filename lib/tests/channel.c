// SPDX-License-Identifier: LGPL-2.1-or-later
/* The channel between two sides that behave, and its errors. */
#include "check.h"
#include "pair.h"

static const char *text(int error)
{
	return isolator_strerror(error);
}

static void there_and_back(void)
{
	struct pair pair;
	int before = descriptors();

	CHECK(pair_make(&pair, 16, 0));
	CHECK_EQUAL(isolator_poll(pair.b, 8), 0);
	CHECK_EQUAL(isolator_post(pair.a, 3, "hello", 6), 0);
	CHECK_EQUAL(isolator_poll(pair.a, 8), 0);
	CHECK_EQUAL(isolator_poll(pair.b, 8), 1);
	CHECK_EQUAL(pair.at_b.type, 3);
	CHECK_EQUAL(pair.at_b.length, 6);
	CHECK(strcmp((char *)pair.at_b.data, "hello") == 0);
	CHECK_EQUAL(isolator_post(pair.b, 255, "", 0), 0);
	CHECK_EQUAL(isolator_poll(pair.a, 8), 1);
	CHECK_EQUAL(pair.at_a.type, 255);
	CHECK_EQUAL(pair.at_a.length, 0);
	CHECK_EQUAL(isolator_poll(pair.a, 8), 0);
	pair_drop(&pair);
	CHECK_EQUAL(descriptors(), before);
}

/* Every length, at every place of the ring. */
static void every_length(void)
{
	unsigned char data[32 * ISOLATOR_SLOT_BYTES];
	struct pair pair;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7 + 1);
	CHECK(pair_make(&pair, 64, sizeof(data)));
	for (size_t length = 0; length <= sizeof(data); length++) {
		CHECK_EQUAL(isolator_post(pair.a, length % ISOLATOR_TYPES, data, length), 0);
		memset(pair.at_b.data, 0, sizeof(pair.at_b.data));
		CHECK_EQUAL(isolator_poll(pair.b, 8), 1);
		CHECK_EQUAL(pair.at_b.length, length);
		CHECK_EQUAL(pair.at_b.type, length % ISOLATOR_TYPES);
		CHECK(memcmp(pair.at_b.data, data, length) == 0);
	}
	CHECK_EQUAL(isolator_post(pair.a, 1, data, sizeof(data) + 1), -EMSGSIZE);
	CHECK(strstr(text(EMSGSIZE), "message_bytes") != NULL);
	CHECK_EQUAL(isolator_post(pair.a, ISOLATOR_TYPES, data, 1), -EINVAL);
	CHECK(strstr(text(EINVAL), "ISOLATOR_TYPES") != NULL);
	CHECK_EQUAL(isolator_poll(pair.b, 8), 0);
	CHECK_EQUAL(pair_stats(pair.a).posted, sizeof(data) + 1);
	CHECK_EQUAL(pair_stats(pair.b).received, sizeof(data) + 1);
	CHECK_EQUAL(pair_stats(pair.b).gaps, 0);
	pair_drop(&pair);
}

static void full_is_a_return_value(void)
{
	unsigned int posted = 0;
	uint64_t data = 0;
	struct pair pair;

	CHECK(pair_make(&pair, 16, 0));
	while (isolator_post(pair.a, 1, &posted, sizeof(posted)) == 0)
		posted++;
	CHECK_EQUAL(posted, 16);
	CHECK_EQUAL(isolator_post(pair.a, 1, &posted, sizeof(posted)), -EAGAIN);
	CHECK(strstr(text(EAGAIN), "ring is full") != NULL);
	CHECK_EQUAL(pair_stats(pair.a).full, 2);
	/* What a post that found no room leaves alone is in order. */
	for (unsigned int i = 0; i < posted; i++) {
		CHECK_EQUAL(isolator_poll(pair.b, 1), 1);
		memcpy(&data, pair.at_b.data, sizeof(unsigned int));
		CHECK_EQUAL(data, i);
	}
	CHECK_EQUAL(isolator_post(pair.a, 1, &posted, sizeof(posted)), 0);
	CHECK_EQUAL(isolator_poll(pair.b, 100), 1);
	pair_drop(&pair);
}

/* A message needs all its slots; less room than that is full, and changes nothing. */
static void full_for_a_long_one(void)
{
	char data[4 * ISOLATOR_SLOT_BYTES] = { 1 };
	struct pair pair;

	CHECK(pair_make(&pair, 8, sizeof(data)));
	for (int i = 0; i < 5; i++)
		CHECK_EQUAL(isolator_post(pair.a, 1, data, 8), 0);
	CHECK_EQUAL(isolator_post(pair.a, 2, data, sizeof(data)), -EAGAIN);
	CHECK_EQUAL(isolator_post(pair.a, 2, data, 3 * ISOLATOR_SLOT_BYTES), 0);
	CHECK_EQUAL(isolator_poll(pair.b, 100), 6);
	CHECK_EQUAL(pair.at_b.length, 3 * ISOLATOR_SLOT_BYTES);
	CHECK_EQUAL(isolator_post(pair.a, 2, data, sizeof(data)), 0);
	CHECK_EQUAL(isolator_poll(pair.b, 100), 1);
	pair_drop(&pair);
}

static void poll_stops_at_its_maximum(void)
{
	struct pair pair;

	CHECK(pair_make(&pair, 16, 0));
	for (int i = 0; i < 10; i++)
		CHECK_EQUAL(isolator_post(pair.a, 1, &i, sizeof(i)), 0);
	CHECK_EQUAL(isolator_poll(pair.b, 0), 0);
	CHECK_EQUAL(isolator_poll(pair.b, 3), 3);
	CHECK_EQUAL(isolator_poll_now(pair.b, 3), 3);
	CHECK_EQUAL(isolator_poll(pair.b, 100), 4);
	CHECK_EQUAL(isolator_poll(pair.b, 100), 0);
	pair_drop(&pair);
}

static void unregistered_types(void)
{
	struct pair pair;

	CHECK(pair_make(&pair, 16, 0));
	CHECK_EQUAL(isolator_channel_register(pair.b, 9, NULL, NULL), 0);
	CHECK_EQUAL(isolator_post(pair.a, 9, "x", 1), 0);
	CHECK_EQUAL(isolator_poll(pair.b, 8), 1);
	CHECK_EQUAL(pair.at_b.calls, 0);
	CHECK_EQUAL(pair_stats(pair.b).unhandled, 1);
	CHECK_EQUAL(pair_stats(pair.b).received, 0);
	CHECK_EQUAL(isolator_channel_register(pair.b, ISOLATOR_TYPE_GAP + 1, pair_hear, NULL),
		    -EINVAL);
	CHECK(strstr(text(EINVAL), "ISOLATOR_TYPE_GAP") != NULL);
	pair_drop(&pair);
}

struct inner {
	struct isolator_channel *channel;
	int poll, close, post;
};

static void from_inside(void *context, unsigned int type, const void *data, size_t length)
{
	struct inner *inner = context;

	inner->poll = isolator_poll_now(inner->channel, 1);
	CHECK(strstr(text(inner->poll), "callback polls") != NULL);
	inner->close = isolator_channel_close(inner->channel);
	CHECK(strstr(text(inner->close), "callback closes") != NULL);
	inner->post = isolator_post(inner->channel, type, data, length);
}

static void callback_posts_but_does_not_poll_or_close(void)
{
	struct inner inner;
	struct pair pair;

	CHECK(pair_make(&pair, 16, 0));
	inner.channel = pair.b;
	isolator_channel_register(pair.b, 1, from_inside, &inner);
	CHECK_EQUAL(isolator_post(pair.a, 1, "answer", 7), 0);
	CHECK_EQUAL(isolator_poll(pair.b, 8), 1);
	CHECK_EQUAL(inner.poll, -EDEADLK);
	CHECK_EQUAL(inner.close, -EDEADLK);
	CHECK_EQUAL(inner.post, 0);
	CHECK_EQUAL(isolator_poll(pair.a, 8), 1);
	CHECK(strcmp((char *)pair.at_a.data, "answer") == 0);
	pair_drop(&pair);
}

static void options_are_checked(void)
{
	struct {
		struct isolator_channel_options known;
		uint32_t newer;
	} bigger = { ISOLATOR_CHANNEL_OPTIONS_INIT, 0 };
	static const struct {
		uint32_t slots, message_bytes, flags;
	} wrong[] = {
		{ 0, 0, 0 }, { 4, 0, 0 }, { 12, 0, 0 }, { 1U << 21, 0, 0 }, { 16, 0, 1 },
		{ 16, 8 * ISOLATOR_SLOT_BYTES + 1, 0 }, { 1U << 20, 65536 * ISOLATOR_SLOT_BYTES, 0 },
		{ 1U << 31, 0, 0 }, { 16, UINT32_MAX, 0 },
	};
	int before = descriptors();
	int fd;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;

		options.slots = wrong[i].slots;
		options.message_bytes = wrong[i].message_bytes;
		options.flags = wrong[i].flags;
		CHECK_EQUAL(isolator_channel_create(&options), -EINVAL);
		CHECK(strstr(text(EINVAL), "ISOLATOR_CHANNEL_OPTIONS_INIT") != NULL);
	}
	CHECK_EQUAL(isolator_channel_create(NULL), -EINVAL);
	bigger.known.size = 8;
	CHECK_EQUAL(isolator_channel_create(&bigger.known), -EINVAL);
	bigger.known.size = sizeof(bigger);
	fd = isolator_channel_create(&bigger.known);
	CHECK(fd >= 0);
	close(fd);
	bigger.newer = 1;
	CHECK_EQUAL(isolator_channel_create(&bigger.known), -E2BIG);
	CHECK(strstr(text(E2BIG), "newer") != NULL);
	CHECK_EQUAL(descriptors(), before);
}

static void limits_of_the_process(void)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct isolator_channel *channel;
	struct rlimit old, none;
	int fd = isolator_channel_create(&options);
	int before = descriptors();

	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	CHECK_EQUAL(isolator_channel_create(&options), -EMFILE);
	CHECK(strstr(text(EMFILE), "RLIMIT_NOFILE") != NULL);
	CHECK_EQUAL(isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel), -EMFILE);
	CHECK(strstr(text(EMFILE), "RLIMIT_NOFILE") != NULL);
	setrlimit(RLIMIT_NOFILE, &old);
	CHECK_EQUAL(descriptors(), before);
	close(fd);
}

static int ordered_error;

static void *no_mmap(void *address, size_t length, int protection, int flags, int fd,
		     off_t offset)
{
	(void)address, (void)length, (void)protection, (void)flags, (void)fd, (void)offset;
	errno = ordered_error;
	return MAP_FAILED;
}

static int no_open(const char *path, int flags)
{
	(void)flags;
	CHECK(strncmp(path, "/proc/self/fd/", 14) == 0);
	errno = ordered_error;
	return -1;
}

/* What the system refuses leaves neither a descriptor nor the lock. */
static void the_system_refuses(void)
{
	static const struct {
		bool map;
		int error;
		const char *names;
	} refusals[] = {
		{ true, ENOMEM, "max_map_count" },
		{ true, EAGAIN, "RLIMIT_MEMLOCK" },
		{ false, ENOENT, "/proc" },
	};
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct isolator_sys real = isolator_sys;
	struct isolator_channel *channel;
	int fd = isolator_channel_create(&options);
	int before = descriptors();

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		ordered_error = refusals[i].error;
		if (refusals[i].map)
			isolator_sys.mmap = no_mmap;
		else
			isolator_sys.open = no_open;
		CHECK_EQUAL(isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel),
			    -refusals[i].error);
		CHECK(strstr(text(refusals[i].error), refusals[i].names) != NULL);
		isolator_sys = real;
		CHECK_EQUAL(descriptors(), before);
	}
	CHECK_EQUAL(isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel), 0);
	isolator_channel_close(channel);
	close(fd);
}

static void descriptors_that_are_no_channel(void)
{
	struct isolator_channel *channel;
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int unsealed = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	CHECK_EQUAL(isolator_channel_open(-1, ISOLATOR_SIDE_A, &channel), -EBADF);
	CHECK(strstr(text(EBADF), "isolator_channel_create()") != NULL);
	CHECK_EQUAL(isolator_channel_open(file, ISOLATOR_SIDE_A, &channel), -ENOTTY);
	CHECK(strstr(text(ENOTTY), "not a channel") != NULL);
	CHECK_EQUAL(isolator_channel_open(null, ISOLATOR_SIDE_A, &channel), -ENOTTY);
	/* The other side could shrink it under us. */
	CHECK_EQUAL(ftruncate(unsealed, 1 << 20), 0);
	CHECK_EQUAL(isolator_channel_open(unsealed, ISOLATOR_SIDE_A, &channel), -ENOTTY);
	CHECK_EQUAL(fcntl(unsealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	CHECK_EQUAL(isolator_channel_open(unsealed, ISOLATOR_SIDE_A, &channel), -EPROTO);
	CHECK(strstr(text(EPROTO), "create a new channel") != NULL);
	close(file);
	close(unsealed);
	close(null);
}

static void size_is_sealed(void)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	int fd = isolator_channel_create(&options);

	CHECK_EQUAL(ftruncate(fd, 4096), -1);
	CHECK_EQUAL(errno, EPERM);
	CHECK_EQUAL(ftruncate(fd, 1 << 24), -1);
	close(fd);
}

/* Each field of the header by itself: wrong, and open says so. */
static void every_header_field_is_checked(void)
{
	static const struct {
		size_t at, bytes;
	} fields[] = {
#define FIELD(name) { offsetof(struct isolator_ring_header, name), \
		      sizeof(((struct isolator_ring_header *)0)->name) }
		FIELD(magic), FIELD(version), FIELD(header_bytes), FIELD(slot_bytes),
		FIELD(slots), FIELD(posters), FIELD(bytes),
	};
	static const uint64_t values[] = { 1, 2, 16, 32, 64, 128, 1U << 20, 1U << 30, UINT64_MAX };
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct isolator_channel *channel;
	int fd = isolator_channel_create(&options);
	struct isolator_ring_header good, bad;

	CHECK_EQUAL(pread(fd, &good, sizeof(good), 0), sizeof(good));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			bad = good;
			memcpy((char *)&bad + fields[i].at, &values[v], fields[i].bytes);
			if (memcmp(&bad, &good, sizeof(bad)) == 0)
				continue;
			CHECK_EQUAL(pwrite(fd, &bad, sizeof(bad), 0), sizeof(bad));
			CHECK_EQUAL(isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel), -EPROTO);
		}
	}
	bad = good;
	bad.message_bytes = 0;
	CHECK_EQUAL(pwrite(fd, &bad, sizeof(bad), 0), sizeof(bad));
	CHECK_EQUAL(isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel), -EPROTO);
	bad.message_bytes = 512 * ISOLATOR_SLOT_BYTES + 1;
	CHECK_EQUAL(pwrite(fd, &bad, sizeof(bad), 0), sizeof(bad));
	CHECK_EQUAL(isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel), -EPROTO);
	/* Sound in itself, but of a bigger channel: behind the end there is nothing. */
	bad = good;
	bad.slots *= 2;
	bad.bytes += 2 * good.slots * sizeof(struct isolator_slot);
	CHECK_EQUAL(pwrite(fd, &bad, sizeof(bad), 0), sizeof(bad));
	CHECK_EQUAL(isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel), -EPROTO);
	CHECK_EQUAL(pwrite(fd, &good, sizeof(good), 0), sizeof(good));
	CHECK_EQUAL(isolator_channel_open(fd, ISOLATOR_SIDE_A, &channel), 0);
	isolator_channel_close(channel);
	close(fd);
}

static void statistics_have_a_size(void)
{
	struct isolator_channel_counters counters = ISOLATOR_CHANNEL_COUNTERS_INIT;
	struct pair pair;

	CHECK(pair_make(&pair, 16, 0));
	counters.size = 8;
	CHECK_EQUAL(isolator_channel_stats(pair.a, &counters), -EINVAL);
	CHECK(strstr(text(EINVAL), "ISOLATOR_CHANNEL_COUNTERS_INIT") != NULL);
	pair_drop(&pair);
}

static const struct test tests[] = {
	{ "there and back", there_and_back },
	{ "every length arrives as it was", every_length },
	{ "full is a return value", full_is_a_return_value },
	{ "full for a long message", full_for_a_long_one },
	{ "poll stops at its maximum", poll_stops_at_its_maximum },
	{ "types without a callback are counted", unregistered_types },
	{ "a callback posts, but does not poll or close", callback_posts_but_does_not_poll_or_close },
	{ "options are checked, nothing is left", options_are_checked },
	{ "no descriptors left: an error, nothing is left", limits_of_the_process },
	{ "the system refuses: an error, nothing is left", the_system_refuses },
	{ "descriptors that are no channel", descriptors_that_are_no_channel },
	{ "the size is sealed", size_is_sealed },
	{ "every field of the header is checked", every_header_field_is_checked },
	{ "statistics have a size", statistics_have_a_size },
};

int main(void)
{
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

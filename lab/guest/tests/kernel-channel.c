// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kernel-channel
 * cpus: 3
 * kernel: isolator
 * timeout: 300
 * append: irqaffinity=0
 * about: an isolated task and a loop of the kernel pass messages, whatever a hostile peer writes
 */
#include <isolator.h>
#include <linux/isolator_ring.h>
#include "traffic.h"

enum { MESSAGES = 1000000, BETWEEN = 50000, SLOTS = 64, STRICT = 1000, LONG = 300 };
enum { SETTLE_MS = 60000, QUIET_MS = 1000 };
/* What a channel of so many slots has as its longest message, if nothing is said of it. */
enum { LONGEST = SLOTS / 4 * ISOLATOR_RING_PAYLOAD };
/* What a tick on the way, or an entry before the first, may let in: no message interrupts. */
enum { FEW = 8 };

/* What side A hears: numbers from 0 on, repeated to the end of what is longer. */
struct ears {
	struct isolator_channel *channel;
	uint64_t next, wrong, gaps, came;
};

static void hear(void *context, unsigned int type, const void *data, size_t length)
{
	struct ears *ears = context;
	uint64_t words[LONG / 8];

	ears->came++;
	if (type == ISOLATOR_TYPE_GAP) {
		ears->gaps++;
		return;
	}
	memcpy(words, data, length < sizeof(words) ? length : sizeof(words));
	if (length < 8 || words[0] != ears->next || words[length / 8 - 1] != ears->next)
		ears->wrong++;
	ears->next = words[0] + 1;
}

static int say(struct ears *ears, uint64_t number)
{
	uint64_t words[LONG / 8];
	size_t length = number % 8 == 7 ? sizeof(words) : 8;

	for (size_t i = 0; i < length / 8; i++)
		words[i] = number;
	return isolator_post(ears->channel, 1, words, length);
}

static void listen(struct ears *ears, int fd)
{
	*ears = (struct ears){ .channel = NULL };
	if (isolator_channel_open(fd, ISOLATOR_SIDE_A, &ears->channel))
		bail_out("side A");
	isolator_channel_register(ears->channel, 1, hear, ears);
	isolator_channel_register(ears->channel, ISOLATOR_TYPE_GAP, hear, ears);
}

static int make(uint32_t slots)
{
	struct isolator_channel_options options = ISOLATOR_CHANNEL_OPTIONS_INIT;
	int fd;

	options.slots = slots;
	fd = isolator_channel_create(&options);
	if (fd < 0)
		bail_out("a channel");
	return fd;
}

/* All come back, in order, each once.  Returns how many did.  Ticks for @iso, if there is one. */
static uint64_t echo(struct ears *ears, uint64_t count, const struct iso *iso)
{
	uint64_t out = 0, end = now_ns() + SETTLE_MS * 2 * MS;

	ears->next = ears->wrong = ears->gaps = 0;
	while (ears->next < count && now_ns() < end) {
		if (out < count && !say(ears, out))
			out++;
		isolator_poll(ears->channel, 4);
		if (iso && iso->page->due)
			iso_tick(iso, NULL);
	}
	return ears->next;
}

/* Who counts interrupts reads a file, and a slow kernel has ticks meanwhile: not on that CPU. */
enum phase { STARTS, ISOLATED, GOES, DONE, COUNTED };

struct run {
	_Atomic enum phase phase;
	int fd;
	uint64_t count, came, wrong, gaps, ticks;
	int error;
};

static void await(const struct run *run, const struct iso *iso, enum phase phase)
{
	while (run->phase != phase) {
		if (iso->page->due)
			iso_tick(iso, NULL);
	}
}

/* On a CPU of its own, isolated as well. */
static void *isolated(void *context)
{
	struct run *run = context;
	struct iso iso;
	struct ears ears;

	listen(&ears, run->fd);
	run->error = iso_pin(2);
	if (!run->error)
		run->error = iso_start(&iso, 0, 0);
	run->phase = ISOLATED;
	if (!run->error) {
		await(run, &iso, GOES);
		run->came = echo(&ears, run->count, &iso);
		run->wrong = ears.wrong;
		run->gaps = ears.gaps;
		run->phase = DONE;
		await(run, &iso, COUNTED);
		run->ticks = iso.page->ticks;
		iso_stop(&iso);
		iso_close(&iso);
	}
	isolator_channel_close(ears.channel);
	return NULL;
}

static void in_peace(int fd)
{
	struct run run = { .fd = fd, .count = MESSAGES };
	long long own = 0, kernel;
	pthread_t thread;

	ok(!order("channel %d", fd), "the kernel has side B");
	ok(order("channel %d", fd) == 0, "and takes it once more, as it gives back what it had");
	kernel = interrupts_all(1);
	pthread_create(&thread, NULL, isolated, &run);
	until(run.phase == ISOLATED);
	if (!run.error) {
		own = interrupts_all(2);
		run.phase = GOES;
		while (run.phase != DONE)
			sleep_ms(1);	/* sleep: between two looks */
		own = interrupts_all(2) - own;
		run.phase = COUNTED;
	}
	pthread_join(thread, NULL);
	ok(!run.error, "side A is an isolated task's: %d", run.error);
	ok(run.came == run.count && !run.wrong && !run.gaps,
	   "%llu of %llu messages came back, %llu in disorder, %llu gaps",
	   (unsigned long long)run.came, (unsigned long long)run.count,
	   (unsigned long long)run.wrong, (unsigned long long)run.gaps);
	ok(told("received") == run.count && told("posted") == run.count && !told("wrong") &&
	   !told("gaps"), "the kernel has had %llu", told("received"));
	kernel = interrupts_all(1) - kernel;
	ok(own <= (long long)(FEW * (run.ticks + 1)) && kernel <= FEW,
	   "%lld interrupts of the task's CPU in %llu ticks meanwhile, %lld of the kernel's",
	   own, (unsigned long long)run.ticks, kernel);
}

/* Writes anything anywhere, until it is killed. */
static void scribble(int fd)
{
	size_t bytes = isolator_ring_channel_bytes(SLOTS), words = bytes / 8;
	volatile uint64_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t state = 88172645463325252ULL;

	if (memory == MAP_FAILED)
		_exit(1);
	for (;;) {
		uint64_t at;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		at = state % words;
		switch (state >> 60) {
		case 0: case 1:
			memory[at] = state * 0x2545f4914f6cdd1dULL;
			break;
		case 2: case 3: case 4:
			/* Near to what is there, so that it may be believed. */
			memory[at] += ((state >> 20) % 64 - 32) * ISOLATOR_RING_ONE;
			break;
		case 5: case 6:
			memory[at & ~7UL] = (memory[at & ~7UL] & ISOLATOR_RING_NUMBER) |
					    ISOLATOR_RING_FIRST | (state >> 20 & 0x7f);
			break;
		default:
			memory[at & ~7UL] ^= state >> 20 & 0xff;
		}
	}
}

static void with_a_liar(int fd)
{
	uint64_t end, number = 0, before;
	struct ears ears;
	pid_t pid;

	ok(!order("channel %d", fd), "the kernel has side B");
	listen(&ears, fd);
	pid = fork();
	if (!pid)
		scribble(fd);
	for (end = now_ns() + 3 * SEC; now_ns() < end; number++) {
		say(&ears, number);
		isolator_poll(ears.channel, 4);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(told("gaps") > 0, "a peer that lies: %llu gaps of %llu slots, %llu messages",
	   told("gaps"), told("lost"), told("received"));
	/* The content of a message is the peer's; what it claims to be is not. */
	ok(told("longest") <= LONGEST, "none longer than any may be: %llu", told("longest"));
	ok(!caller_state(TRAFFIC) && caller_polls(TRAFFIC), "isolated, polling");
	/* Then both behave. */
	before = ears.came;
	for (end = now_ns() + SETTLE_MS * MS; ears.came < before + 4 * SLOTS && now_ns() < end;) {
		say(&ears, number++);
		isolator_poll(ears.channel, 4);
	}
	ok(ears.came >= before + 4 * SLOTS, "messages come again: %llu",
	   (unsigned long long)(ears.came - before));
	/* What is still under way. */
	for (end = now_ns() + QUIET_MS * MS; now_ns() < end;)
		if (isolator_poll(ears.channel, 4) > 0)
			end = now_ns() + QUIET_MS * MS;
	ok(echo(&ears, STRICT, NULL) == STRICT && !ears.wrong && !ears.gaps,
	   "and are all there: %llu, %llu in disorder, %llu gaps", (unsigned long long)ears.next,
	   (unsigned long long)ears.wrong, (unsigned long long)ears.gaps);
	/* Pages that go from the file stay the kernel's. */
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		      (off_t)isolator_ring_channel_bytes(SLOTS)))
		bail_out("FALLOC_FL_PUNCH_HOLE");
	say(&ears, 0);
	ok(!caller_state(TRAFFIC) && caller_polls(TRAFFIC), "a hole is punched: isolated, polling");
	isolator_channel_close(ears.channel);
}

static void peer_dies(void)
{
	int fd = make(SLOTS);
	struct ears ears;
	pid_t pid;

	ok(!order("channel %d", fd), "the kernel has side B");
	ok(!order("peer 0") && !told("answer"), "nobody has side A");
	pid = fork();
	if (!pid) {
		listen(&ears, fd);
		say(&ears, 0);
		pause();
	}
	ok(comes(!order("peer 0") && told("answer") == 1, 10000), "somebody has");
	until(told("received") == 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(!order("peer 0") && !told("answer"), "it is dead, and the kernel can tell");
	listen(&ears, fd);
	/* What the dead one did not take comes first. */
	ok(comes(isolator_poll(ears.channel, 1) == 1, 10000), "the next one goes on there");
	ok(echo(&ears, STRICT, NULL) == STRICT && !ears.gaps, "and the kernel answers it");
	isolator_channel_close(ears.channel);
	close(fd);
}

/* A memfd like a channel, but for its seals. */
static int sealed(unsigned int seals)
{
	int made = make(SLOTS), fd = memfd_create("like", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char memory[ISOLATOR_RING_HEADER];

	if (fd < 0 || pread(made, memory, sizeof(memory), 0) != sizeof(memory) ||
	    pwrite(fd, memory, sizeof(memory), 0) != sizeof(memory) ||
	    ftruncate(fd, (off_t)isolator_ring_channel_bytes(SLOTS)) ||
	    fcntl(fd, F_ADD_SEALS, seals))
		bail_out("a memfd");
	close(made);
	return fd;
}

static int offered(int fd)
{
	int ret = order("channel %d", fd);

	close(fd);
	return ret;
}

static int read_only(int fd)
{
	char path[32];
	int ret;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret = offered(open(path, O_RDONLY | O_CLOEXEC));
	close(fd);
	return ret;
}

/* Who has a lease may keep it for 45 s: the kernel waits for none of it. */
static void leased(void)
{
	int fd = make(SLOTS), other;
	uint64_t begin;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_RDWR | O_CLOEXEC);
	signal(SIGIO, SIG_IGN);
	if (other < 0 || fcntl(other, F_SETLEASE, F_WRLCK))
		bail_out("a lease");
	begin = now_ns();
	ok(order("channel %d", fd) == -EBUSY && now_ns() - begin < 20 * SEC,
	   "a lease is somebody's: refused at once");
	close(other);
	ok(!offered(fd), "once that is gone, the kernel takes it");
}

static int spoilt(size_t at)
{
	int fd = make(SLOTS);

	if (pwrite(fd, "\xff", 1, (off_t)at) != 1)
		bail_out("pwrite");
	return offered(fd);
}

static void refusals(void)
{
	const unsigned int size = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct ears ears;
	int fd;

	ok(order("channel 999") == -EBADF, "no descriptor");
	ok(offered(open("/dev/null", O_RDWR)) == -ENOTTY, "a device");
	ok(offered(open("/tmp/kernel-channel", O_RDWR | O_CREAT, 0600)) == -ENOTTY, "a file");
	ok(read_only(make(SLOTS)) == -EACCES, "read only");
	ok(offered(sealed(size & ~F_SEAL_SHRINK)) == -ENOTTY, "it could shrink");
	ok(offered(sealed(size & ~F_SEAL_SEAL)) == -ENOTTY, "it could be sealed further");
	ok(offered(sealed(size | F_SEAL_WRITE)) == -EPERM, "it may not be written to");
	ok(offered(sealed(size | F_SEAL_FUTURE_WRITE)) == -EPERM, "nor by new mappings");
	fd = memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
	if (fd >= 0)
		ok(offered(fd) == -ENOTTY, "large pages");
	ok(spoilt(offsetof(struct isolator_ring_header, magic)) == -EPROTO, "another magic");
	ok(spoilt(offsetof(struct isolator_ring_header, slots)) == -EPROTO, "another size");
	ok(spoilt(offsetof(struct isolator_ring_header, bytes)) == -EPROTO, "as the header has it");
	leased();
	ok(offered(make(1 << 20)) == -E2BIG, "larger than the module lets it be");
	fd = make(SLOTS);
	if (isolator_channel_open(fd, ISOLATOR_SIDE_B, &ears.channel))
		bail_out("side B");
	ok(order("channel %d", fd) == -EBUSY, "a side that a process has");
	isolator_channel_close(ears.channel);
	ok(!offered(fd), "once that has closed it, the kernel may");
	ok(offered(sealed(size)) == 0, "pages that nobody has made yet");
	unlink("/tmp/kernel-channel");
}

int main(void)
{
	int fd;

	iso_require(3);
	caller_start(TRAFFIC);
	fd = make(SLOTS);
	in_peace(fd);
	with_a_liar(fd);
	close(fd);
	peer_dies();
	refusals();
	ok(!order("kernel %u", scaled(BETWEEN)), "two threads of the kernel pass messages");
	ok(told("received") == scaled(BETWEEN) && !told("wrong") && !told("gaps"),
	   "%llu, %llu in disorder, %llu gaps", told("received"), told("wrong"), told("gaps"));
	ok(!caller_state(TRAFFIC) && caller_polls(TRAFFIC), "still isolated, still polling");
	caller_kept();
	caller_stop(TRAFFIC, "stop");
	return done_testing();
}

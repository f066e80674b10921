// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A target without a machine: answers on the lines as the driver does, after delays that are
 * random but repeatable, and writes down what it did, for tests and demonstrations.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "ivshmem.h"
#include "scope_lines.h"
#include "target_log.h"

#define PENDING 65536
#define LOG_MAX (UINT64_C(1) << 22)

static const char help[] =
"usage: isolator-target --socket PATH --line NAME,US[,SPREAD[,DROP[,SLOW]]]... [OPTION...]\n"
"\n"
"Answers triggers of an isolator-generator as a machine with the driver would: on each line US\n"
"microseconds after it saw the trigger, or up to SPREAD more; DROP percent of them never, and\n"
"SLOW percent of them 20 ms later still.\n"
"\n"
"options:\n"
"  --seed N       of the delays (default 1)\n"
"  --log FILE     what was done: see target_log.h\n"
"  --false N      each N-th answer is followed by a second one to the same trigger, and by\n"
"                 one to a trigger that has not been\n"
"\n"
"examples:\n"
"  isolator-target --socket lines.sock --line irq,5,2 --line user,50,30,1,1\n";

struct line {
	char name[SCOPE_LINES_NAME + 1];
	uint64_t delay_ns, spread_ns;
	unsigned int drop, slow;	/* percent */
};

struct pending {
	uint64_t due_ns, seen_ns;
	uint32_t sequence, generation;
	unsigned int line;
};

static struct line lines_of[SCOPE_LINES_MAX];
static unsigned int nr_lines;
static struct pending heap[PENDING];
static size_t nr_pending;
static struct target_log *record;
static struct scope_lines *lines;
static uint64_t seed = 1;
static unsigned int false_every, answers;
static volatile sig_atomic_t told_to_end;

static void tell_to_end(int signal)
{
	(void)signal;
	told_to_end = 1;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "isolator-target: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void push(struct pending new)
{
	size_t at = nr_pending++;

	while (at && heap[(at - 1) / 2].due_ns > new.due_ns) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = new;
}

static struct pending pop(void)
{
	struct pending first = heap[0], last = heap[--nr_pending];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < nr_pending) {
		if (child + 1 < nr_pending && heap[child + 1].due_ns < heap[child].due_ns)
			child++;
		if (last.due_ns <= heap[child].due_ns)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return first;
}

/* Before it is done: after a kill at any point the log has at most one too many. */
static void write_down(enum target_act act, const struct pending *pending, uint32_t sequence)
{
	uint64_t at;

	if (!record)
		return;
	at = record->count;
	if (at == LOG_MAX)
		return;
	record->acts[at] = (struct target_entry){
		.act = act, .line = pending->line, .sequence = sequence,
		.generation = pending->generation, .delay_ns = clock_now() - pending->seen_ns,
	};
	__atomic_store_n(&record->count, at + 1, __ATOMIC_RELEASE);
}

static void publish(unsigned int line, uint32_t sequence)
{
	struct scope_line *to = &lines->line[line];
	uint32_t head = to->head;

	__atomic_store_n(&to->ring[head % SCOPE_LINES_RING], sequence, __ATOMIC_RELAXED);
	__atomic_store_n(&to->head, head + 1, __ATOMIC_RELEASE);
}

static void answer(const struct pending *pending)
{
	write_down(ACT_ANSWER, pending, pending->sequence);
	publish(pending->line, pending->sequence);
	if (!false_every || ++answers % false_every)
		return;
	write_down(ACT_TWICE, pending, pending->sequence);
	publish(pending->line, pending->sequence);
	write_down(ACT_EARLY, pending, pending->sequence + 100000);
	publish(pending->line, pending->sequence + 100000);
}

static void see(uint32_t sequence)
{
	uint64_t now = clock_now();
	uint64_t enabled = __atomic_load_n(&lines->enabled, __ATOMIC_ACQUIRE);
	uint32_t generation = __atomic_load_n(&lines->generation, __ATOMIC_ACQUIRE);

	for (unsigned int i = 0; i < nr_lines; i++) {
		const struct line *line = &lines_of[i];
		struct pending new = {
			.due_ns = now + line->delay_ns, .seen_ns = now, .sequence = sequence,
			.generation = generation, .line = i,
		};
		bool dropped = random_below(&seed, 100) < line->drop;
		bool slow = random_below(&seed, 100) < line->slow;

		new.due_ns += random_below(&seed, line->spread_ns + 1);
		new.due_ns += slow ? 20000000 : 0;
		if (!(enabled >> i & 1))
			continue;
		if (dropped || nr_pending == PENDING)
			write_down(ACT_DROP, &new, sequence);
		else
			push(new);
	}
}

static void add_line(char *text)
{
	struct line *line = &lines_of[nr_lines];
	const char *word = strtok(text, ",");
	uint64_t number[4] = { 0 };

	if (nr_lines == SCOPE_LINES_MAX || !word) {
		errno = EINVAL;
		fail("--line");
	}
	snprintf(line->name, sizeof(line->name), "%s", word);
	for (unsigned int i = 0; i < 4 && (word = strtok(NULL, ",")); i++)
		number[i] = strtoull(word, NULL, 10);
	line->delay_ns = number[0] * 1000;
	line->spread_ns = number[1] * 1000;
	line->drop = (unsigned int)number[2];
	line->slow = (unsigned int)number[3];
	nr_lines++;
}

static void open_log(const char *path)
{
	int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	off_t size = sizeof(*record) + LOG_MAX * sizeof(record->acts[0]);

	if (file < 0 || ftruncate(file, size))
		fail(path);
	record = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (record == MAP_FAILED)
		fail(path);
	close(file);
}

/* Returns the doorbell on which the generator rings. */
static int join(const char *path)
{
	struct sockaddr_un address;
	struct ivshmem_part part = { .file = -1 };
	int64_t number, own = -1;
	int connection, file, count = 0;

	connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection < 0 || !ivshmem_address(&address, path) ||
	    connect(connection, (const struct sockaddr *)&address, sizeof(address)))
		fail(path);
	for (;;) {
		struct pollfd ready = { .fd = connection, .events = POLLIN };
		int got = ivshmem_receive(connection, &part, &number, &file);

		if (got < 0)
			fail("the server has gone");
		if (!got) {
			poll(&ready, 1, -1);
			continue;
		}
		if (++count == 2)
			own = number;
		if (count == 3) {
			lines = mmap(NULL, SCOPE_LINES_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
				     file, 0);
			if (lines == MAP_FAILED)
				fail("the lines");
		}
		if (count > 3 && number == own)
			return file;
	}
}

static void offer(void)
{
	memset(lines->names, 0, sizeof(lines->names));
	for (unsigned int i = 0; i < nr_lines; i++)
		memcpy(lines->names[i], lines_of[i].name,
		       strnlen(lines_of[i].name, SCOPE_LINES_NAME));
	__atomic_store_n(&lines->offered, (UINT64_C(1) << nr_lines) - 1, __ATOMIC_RELEASE);
	__atomic_store_n(&lines->driver_generation, lines->driver_generation + 1,
			 __ATOMIC_RELEASE);
}

static void wait_for(int doorbell, uint64_t now)
{
	struct pollfd bell = { .fd = doorbell, .events = POLLIN };
	struct timespec most = { 0, 50000000 };
	uint64_t count;

	if (nr_pending && heap[0].due_ns <= now)
		return;
	if (nr_pending && heap[0].due_ns - now < 50000000)
		most.tv_nsec = (long)(heap[0].due_ns - now);
	if (ppoll(&bell, 1, &most, NULL) > 0 && read(doorbell, &count, sizeof(count)) < 0)
		return;
}

static void run(int doorbell)
{
	/* A trigger from before this one was there is not its own. */
	uint32_t last = __atomic_load_n(&lines->trigger, __ATOMIC_ACQUIRE);

	while (!told_to_end) {
		uint32_t trigger = __atomic_load_n(&lines->trigger, __ATOMIC_ACQUIRE);
		uint64_t now;

		if (trigger != last)
			see(trigger);
		last = trigger;
		now = clock_now();
		while (nr_pending && heap[0].due_ns <= now) {
			struct pending due = pop();

			answer(&due);
		}
		wait_for(doorbell, now);
	}
	__atomic_store_n(&lines->offered, 0, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	const struct sigaction end = { .sa_handler = tell_to_end };
	const char *socket_path = NULL;
	int doorbell;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(help, stdout);
			return 0;
		}
		if (i + 1 == argc) {
			fputs(help, stderr);
			return 1;
		}
		if (!strcmp(argv[i], "--socket"))
			socket_path = argv[++i];
		else if (!strcmp(argv[i], "--line"))
			add_line(argv[++i]);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--false"))
			false_every = (unsigned int)strtoul(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--log"))
			open_log(argv[++i]);
		else {
			fputs(help, stderr);
			return 1;
		}
	}
	if (!socket_path || !nr_lines) {
		fputs(help, stderr);
		return 1;
	}
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	doorbell = join(socket_path);
	offer();
	printf("answers\n");
	fflush(stdout);
	run(doorbell);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mechanisms "user" and "poll": a task that waits in read() and answers by an ioctl, or
 * one that looks at the trigger in shared memory and answers there, on an isolated CPU if
 * the kernel has that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../include/isolator_scope.h"
#include "../include/scope_lines.h"
#include "isolator.h"

#define DEVICE "/dev/isolator_scope"
#define PRIORITY 80
#define HEADER (sizeof(struct scope_lines) - sizeof(((struct scope_lines *)NULL)->line))

struct asked {
	bool poll, isolate;
	long cpu, priority, delay_us;
};

static volatile sig_atomic_t ended;
static sigjmp_buf faulted;
static const char *volatile fault;

/* Again in a second: it may have come after the last look at it, and before read() waits. */
static void on_signal(int number)
{
	ended = number;
	alarm(1);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	fault = info->si_addr;
	siglongjmp(faulted, 1);
}

static int fail(const char *what)
{
	fprintf(stderr, "scope-task: %s: %s\n", what, strerror(errno));
	return EXIT_FAILURE;
}

static void usage(FILE *out)
{
	fputs("usage: scope-task [--poll [--isolate]] [--cpu N] [--priority N] [--delay US]\n\n"
	      "Answers triggers of /dev/isolator_scope, for the mechanism \"user\" (read and ioctl)\n"
	      "or \"poll\", until SIGINT or SIGTERM; then prints how many it answered.\n\n"
	      "options:\n"
	      "  -p, --poll        look at the trigger in shared memory, and answer there\n"
	      "  -i, --isolate     with --poll: isolate the CPU, tick at each answer\n"
	      "  -c, --cpu N       run there\n"
	      "  -P, --priority N  of SCHED_FIFO, 1 to 99; 0: an ordinary task (default 80 for\n"
	      "                    \"user\", 0 for \"poll\", which never waits)\n"
	      "  -d, --delay US    planted: wait so long before each answer\n"
	      "  -h, --help        this text\n\n"
	      "examples:\n"
	      "  scope-task --cpu 1\n"
	      "  scope-task --poll --isolate --cpu 1\n", out);
}

static int number(const char *text, const char *what, long least, long most, long *found)
{
	char *end;

	errno = 0;
	*found = strtol(text, &end, 10);
	if (!errno && end != text && !*end && *found >= least && *found <= most)
		return 0;
	fprintf(stderr, "scope-task: %s must be %ld to %ld, not \"%s\"\n", what, least, most, text);
	return -1;
}

static int parse(int argc, char **argv, struct asked *asked)
{
	static const struct option options[] = {
		{ "poll", no_argument, NULL, 'p' }, { "isolate", no_argument, NULL, 'i' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "priority", required_argument, NULL, 'P' },
		{ "delay", required_argument, NULL, 'd' }, { "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, bad = 0;

	while ((option = getopt_long(argc, argv, "pic:P:d:h", options, NULL)) != -1) {
		switch (option) {
		case 'p':
			asked->poll = true;
			break;
		case 'i':
			asked->isolate = true;
			break;
		case 'c':
			bad |= number(optarg, "--cpu", 0, CPU_SETSIZE - 1, &asked->cpu);
			break;
		case 'P':
			bad |= number(optarg, "--priority", 0, 99, &asked->priority);
			break;
		case 'd':
			bad |= number(optarg, "--delay", 0, 1000000, &asked->delay_us);
			break;
		case 'h':
			usage(stdout);
			exit(fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS);
		default:
			bad = -1;
		}
	}
	if (!bad && optind < argc) {
		fprintf(stderr, "scope-task: there is no option \"%s\"; see --help\n", argv[optind]);
		return -1;
	}
	if (!bad && asked->isolate && !asked->poll) {
		fputs("scope-task: --isolate is for --poll: a task that sleeps is not isolated\n",
		      stderr);
		return -1;
	}
	return bad;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void delay(const struct asked *asked)
{
	uint64_t until = now_ns() + (uint64_t)asked->delay_us * 1000;

	while (asked->delay_us && now_ns() < until && !ended)
		;
}

static int block(int device, const struct asked *asked, uint64_t *answers)
{
	__u32 sequence;

	while (!ended) {
		if (read(device, &sequence, sizeof(sequence)) != sizeof(sequence))
			return errno == EINTR ? EXIT_SUCCESS : fail(DEVICE);
		delay(asked);
		/* Its line may be taken from it at any time. */
		if (!ioctl(device, SCOPE_IOC_ANSWER, &sequence))
			(*answers)++;
		else if (errno != ENOENT && errno != EINTR)
			return fail("SCOPE_IOC_ANSWER");
	}
	return EXIT_SUCCESS;
}

static int spin(int device, const struct asked *asked, uint64_t *answers)
{
	const struct scope_lines *lines = mmap(NULL, HEADER, PROT_READ, MAP_SHARED, device,
					       SCOPE_MAP_HEADER);
	struct scope_line *line = mmap(NULL, sizeof(*line), PROT_READ | PROT_WRITE, MAP_SHARED,
				       device, SCOPE_MAP_POLL);
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	volatile __u32 seen;
	__u32 trigger, head;

	if (lines == MAP_FAILED || line == MAP_FAILED)
		return fail(DEVICE ": no lines to map");
	sigaction(SIGBUS, &action, NULL);
	if (sigsetjmp(faulted, 1)) {
		if (fault >= (const char *)lines && fault < (const char *)lines + HEADER) {
			errno = ENODEV;
			return fail(DEVICE);
		}
		/* Its line may be taken from it at any time: that trigger is missing. */
	} else {
		seen = __atomic_load_n(&lines->trigger, __ATOMIC_ACQUIRE);
	}
	while (!ended) {
		/* Pairs with the generator's release. */
		trigger = __atomic_load_n(&lines->trigger, __ATOMIC_ACQUIRE);
		if (trigger != seen) {
			seen = trigger;
			delay(asked);
			/* Not from before: it may have got another line. */
			head = __atomic_load_n(&line->head, __ATOMIC_RELAXED);
			line->ring[head % SCOPE_LINES_RING] = trigger;
			/* Pairs with the generator's acquire: the sequence is there. */
			__atomic_store_n(&line->head, head + 1, __ATOMIC_RELEASE);
			(*answers)++;
		}
		if (asked->isolate)
			isolator_tick(0);
	}
	return EXIT_SUCCESS;
}

static int settle(const struct asked *asked)
{
	struct sched_param parameter = { .sched_priority = (int)asked->priority };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	if (asked->cpu >= 0) {
		CPU_SET((size_t)asked->cpu, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus))
			return fail("--cpu");
	}
	if (asked->priority && sched_setscheduler(0, SCHED_FIFO, &parameter))
		return fail("--priority");
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return fail("mlockall");
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct asked asked = { .cpu = -1, .priority = -1 };
	struct sigaction action = { .sa_handler = on_signal };
	uint64_t answers = 0;
	int device, code, error;

	if (parse(argc, argv, &asked))
		return EXIT_FAILURE;
	if (asked.priority < 0)
		asked.priority = asked.poll ? 0 : PRIORITY;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	device = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0)
		return fail(DEVICE);
	code = settle(&asked);
	if (!code && asked.isolate) {
		error = isolator_start(ISOLATOR_MASK_ALL);
		if (error < 0) {
			fprintf(stderr, "scope-task: isolator_start: %s\n", strerror(-error));
			return EXIT_FAILURE;
		}
	}
	if (!code)
		code = asked.poll ? spin(device, &asked, &answers) : block(device, &asked, &answers);
	if (asked.isolate)
		isolator_stop();
	printf("%" PRIu64 " answers\n", answers);
	return fflush(stdout) ? EXIT_FAILURE : code;
}

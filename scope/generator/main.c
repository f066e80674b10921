// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator-generator: triggers for virtual machines, and when they answer. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "calibrate.h"
#include "capture.h"
#include "listen.h"
#include "options.h"
#include "peers.h"
#include "place.h"
#include "ring.h"
#include "server.h"
#include "store.h"
#include "token.h"

#define TEXT 256
#define PATH_TEXT 4096

/* Large: in no thread's stack. */
static struct capture capture;
static struct book book;
static struct ring ring;
static struct store store;
static struct peers peers;
static struct server server;

/* Which CPU captures; -1, and said so: none can be had. */
static int choose_cpu(int wanted)
{
	int cpu = wanted >= 0 ? wanted : place_choose(-1);

	if (cpu >= 0 && place_try(cpu))
		return cpu;
	say("it cannot be bound to CPU %d: %s; it goes on on any CPU, and its times are worse for it. See Cpus_allowed_list in /proc/self/status for what --cpu may be",
	    cpu, strerror(errno));
	return -1;
}

static void tell_floor(const struct floor_result *floor)
{
	if (!floor->rounds) {
		say("it could not be calibrated: no other CPU is there to answer; its own error is not known");
		return;
	}
	printf("resolution %" PRIu64 " ns; loop-back p50 %" PRIu64 " p99 %" PRIu64 " max %" PRIu64
	       " ns; jitter p50 %" PRIu64 " p99 %" PRIu64 " max %" PRIu64 " ns (%" PRIu32 " rounds)\n",
	       floor->resolution, floor->loopback_p50, floor->loopback_p99, floor->loopback_max,
	       floor->jitter_p50, floor->jitter_p99, floor->jitter_max, floor->rounds);
	fflush(stdout);
}

struct calibration {
	uint32_t rounds;
	int cpu;
	struct floor_result result;
};

static void *calibrate_there(void *argument)
{
	struct calibration *calibration = argument;

	place_current(calibration->cpu);
	calibrate(calibration->rounds, calibration->cpu, &calibration->result);
	return NULL;
}

/* In a thread on the CPU that captures; this one stays where it is. */
static struct floor_result calibrated(uint32_t rounds, int cpu)
{
	struct calibration calibration = { .rounds = rounds, .cpu = cpu };
	pthread_t thread;

	if (!pthread_create(&thread, NULL, calibrate_there, &calibration))
		pthread_join(thread, NULL);
	return calibration.result;
}

/* The signals that end it come here, in order with all else. */
static int catch_signals(void)
{
	sigset_t ends;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void prepare(const struct options *options, int cpu, const struct floor_result *floor)
{
	capture_init(&capture, peers.lines, &book, &ring);
	capture.cpu = cpu;
	capture.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	capture_trust(&capture, floor);
	/* What is touched first while triggers run shall be there; a limit may forbid to lock it. */
	memset(ring.bytes, 0, sizeof(ring.bytes));
	mlock(&book, sizeof(book));
	mlock(&ring, sizeof(ring));
	store_begin(&store, options->store);
	server.capture = &capture;
	server.ring = &ring;
	server.store = &store;
	server.peers = &peers;
	server.begin_ns = capture.begin_ns;
	server.floor = *floor;
	server.settings = capture.settings;
	while (!server.session)
		if (getrandom(&server.session, sizeof(server.session), 0) < 0)
			fail("no random numbers: %s", strerror(errno));
	if (capture.wake < 0 || server.signals < 0)
		fail("no file descriptor: %s; see ulimit -n", strerror(errno));
}

int main(int argc, char **argv)
{
	char where[TEXT] = "", why[TEXT] = "", token[PATH_TEXT];
	struct floor_result floor;
	struct options options;
	int cpu;

	options_parse(&options, argc, argv);
	if (options.token_file) {
		server.token = token_read(options.token_file);
		snprintf(token, sizeof(token), "%s", options.token_file);
	}
	/* The server of the lines is another process: before there are threads. */
	if (!options.calibrate) {
		server.listener = listen_begin(options.listen, server.token, where, why, TEXT);
		if (server.listener < 0)
			fail("%s", why);
		if (!peers_join(&peers, options.socket, why, TEXT))
			fail("%s", why);
		/* Only now: no other generator has these lines, and so this file. */
		if (!server.token)
			server.token = token_own(options.socket, token, sizeof(token));
	}
	server.signals = catch_signals();
	cpu = choose_cpu(options.cpu);
	floor = calibrated(options.rounds, cpu);
	tell_floor(&floor);
	if (options.calibrate)
		return floor.rounds ? EXIT_PASS : EXIT_INCONCLUSIVE;
	prepare(&options, cpu, &floor);
	if (pthread_create(&capture.thread, NULL, capture_thread, &capture))
		fail("no thread: %s; see ulimit -u", strerror(errno));
	printf("targets connect to %s\nhosts connect to %s with the token in %s\n", options.socket, where,
	       token);
	fflush(stdout);
	server_run(&server);
	store_end(&store);
	peers_leave(&peers);
	close(server.listener);
	close(server.signals);
	close(capture.wake);
	free(server.token);
	return EXIT_PASS;
}

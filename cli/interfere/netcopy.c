// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies a file over the network: to this machine itself, by TCP.  Two processes on each
 * CPU: one sends a file, a connection each time, the other writes what it gets into
 * another one.  The files have no names, so nothing is left of them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "interfere/scratch.h"
#include "interfere/work.h"

#define FILE_SIZE (8 << 20)
#define CHUNK 65536

static int settle(struct work *work)
{
	work->words = text_format("a file of %d MiB by TCP over the loopback device, from %s and back",
				  FILE_SIZE >> 20, scratch_place());
	return 0;
}

/* Where there is none without a name, memory is one too. */
static int open_file(struct work *work)
{
	int fd = open(scratch_place(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("netcopy", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, FILE_SIZE))
		work_fail(work, "no file to copy in %s: %s", scratch_place(), strerror(errno));
	return fd;
}

static void fill(struct work *work, int fd)
{
	char chunk[CHUNK];

	for (off_t at = 0; at < FILE_SIZE; at += CHUNK) {
		/* No two parts alike. */
		for (int i = 0; i < CHUNK; i++)
			chunk[i] = (char)(at / CHUNK * 31 + i * 7 + i / 251);
		if (pwrite(fd, chunk, CHUNK, at) != CHUNK)
			work_fail(work, "the file to copy in %s: %s", scratch_place(),
				  strerror(errno));
	}
}

static void send_files(struct work *work, const struct sockaddr_in *to, int file)
	__attribute__((noreturn));

static void send_files(struct work *work, const struct sockaddr_in *to, int file)
{
	for (;;) {
		int out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		off_t at = 0;

		if (out < 0 || connect(out, (const struct sockaddr *)to, sizeof(*to)))
			work_fail(work, "127.0.0.1: %s: is the loopback device up (ip link set lo up)?",
				  strerror(errno));
		while (at < FILE_SIZE)
			if (sendfile(out, file, &at, (size_t)(FILE_SIZE - at)) <= 0)
				work_fail(work, "sendfile: %s", strerror(errno));
		close(out);
	}
}

/* One file, all of it. */
static void receive(struct work *work, int in, int file, char *chunk)
{
	off_t at = 0;
	ssize_t got;

	while ((got = read(in, chunk, CHUNK)) > 0) {
		if (pwrite(file, chunk, (size_t)got, at) != got)
			work_fail(work, "the copy in %s: %s", scratch_place(), strerror(errno));
		at += got;
		work_did(work->slot, (uint64_t)got);
	}
	if (got || at != FILE_SIZE)
		work_fail(work, "%lld bytes of %d came", (long long)at, FILE_SIZE);
}

/* Did every byte come as it was sent? */
static bool same(int one, int other)
{
	void *a = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, one, 0);
	void *b = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, other, 0);
	bool equal = a != MAP_FAILED && b != MAP_FAILED && !memcmp(a, b, FILE_SIZE);

	if (a != MAP_FAILED)
		munmap(a, FILE_SIZE);
	if (b != MAP_FAILED)
		munmap(b, FILE_SIZE);
	return equal;
}

static void receive_files(struct work *work, int listener, int from, int to)
	__attribute__((noreturn));

static void receive_files(struct work *work, int listener, int from, int to)
{
	char chunk[CHUNK];

	for (bool first = true;; first = false) {
		int in = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (in < 0)
			work_fail(work, "accept: %s", strerror(errno));
		if (first)
			work_ready(work);
		receive(work, in, to, chunk);
		close(in);
		if (first && !same(from, to))
			work_fail(work, "the copy is not what was sent");
	}
}

static void run(struct work *work) __attribute__((noreturn));

static void run(struct work *work)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int from = open_file(work), to = open_file(work);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(address);
	pid_t sender = getpid(), child;

	fill(work, from);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &size))
		work_fail(work, "no TCP port on 127.0.0.1: %s: is the loopback device up (ip link set lo up)?",
			  strerror(errno));
	child = fork();
	if (child < 0)
		work_fail(work, "no process: %s", strerror(errno));
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != sender)
			_exit(1);
		receive_files(work, listener, from, to);
	}
	/* Without a receiver nobody listens any more, and that ends this one. */
	close(listener);
	send_files(work, &address, from);
}

const struct work_type work_netcopy = {
	.type = {
		.name = "netcopy",
		.about = "copies a file by TCP over the loopback device",
		.operation = "bytes received",
	},
	.settle = settle,
	.run = run,
};

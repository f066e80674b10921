// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fuzz
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: hostile ioctls and writes leave nothing behind
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../iso.h"
#include "../tap.h"

enum { SECONDS = 5, SEED = 20261121 };

static uint64_t calls, taken;

/* Mostly what is nearly right, sometimes what is not at all. */
static void fill(void *buf, size_t size)
{
	static const uint32_t words[] = { 0, 1, 7, 8, 24, 32, 56, 64, ~0U, 0x80000000 };
	uint32_t *w = buf;

	for (size_t i = 0; i < size / 4; i++)
		w[i] = random() % 4 ? words[(size_t)random() % 10] : (uint32_t)random();
}

static unsigned long any_command(void)
{
	static const unsigned long commands[] = {
		ISOLATOR_IOC_START, ISOLATOR_IOC_TICK, ISOLATOR_IOC_STOP,
		ISOLATOR_IOC_START_TASK, ISOLATOR_IOC_STOP_TASK,
	};
	unsigned long command = commands[random() % 5];

	switch (random() % 8) {
	case 0:
		return (unsigned long)random();
	case 1:	/* of a caller that knows more, or less */
		command &= ~(unsigned long)IOCSIZE_MASK;
		return command | (unsigned long)(random() % 128) << IOCSIZE_SHIFT;
	}
	return command;
}

static void any_ioctl(int fd, char *edge)
{
	union {
		struct isolator_start_args start;
		struct isolator_task_args task;
		char bytes[128];
	} args = { 0 };
	unsigned long command = any_command();
	void *where = &args;

	fill(&args, sizeof(args));
	if (random() % 2)
		args.start.size = _IOC_SIZE(command);
	if (random() % 3 == 0) {	/* a start that can succeed, then harm */
		memset(&args, 0, sizeof(args));
		args.start.size = _IOC_SIZE(command);
		if (_IOC_NR(command) == _IOC_NR(ISOLATOR_IOC_START_TASK)) {
			args.task.start.size = args.task.size - offsetof(typeof(args.task), start);
			args.task.start.mask = 1 + (uint32_t)random() % 7;
		} else {
			args.start.mask = 1 + (uint32_t)random() % 7;
		}
	}
	switch (random() % 10) {
	case 0:
		where = NULL;
		break;
	case 1:
		where = (void *)0xffff888000000000UL;
		break;
	case 2:	/* runs over the end of what is mapped */
		where = edge + 4096 - random() % 60;
		break;
	case 3:
		where = (char *)&args + 1;
		break;
	}
	calls++;
	taken += !ioctl(fd, command, where);
}

static void any_write(void)
{
	static const char *const files[] = { "start", "tick", "stop", "cpus" };
	static const char *const texts[] = { "", "7", "1", "-1", "0x7", "1-", "\n", "99999999999" };
	char path[64], text[300];

	snprintf(path, sizeof(path), "/proc/isolator/%s", files[random() % 4]);
	if (random() % 4) {
		snprintf(text, sizeof(text), "%s", texts[random() % 8]);
	} else {
		size_t n = (size_t)random() % (sizeof(text) - 1);

		for (size_t i = 0; i < n; i++)
			text[i] = (char)(1 + random() % 255);
		text[n] = 0;
	}
	calls++;
	taken += !put_file(path, text);
	if (random() % 4 == 0)
		put_file("/proc/isolator/cpus", "1");
}

int main(void)
{
	struct worker *w = worker_new(1);
	char status[4096], *edge;
	uint64_t end;
	int fd, error, stops = 0;

	iso_require(2);
	srandom(SEED);
	fd = open("/dev/isolator", O_RDWR | O_CLOEXEC);
	edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || edge == MAP_FAILED || munmap(edge + 4096, 4096))
		bail_out("set-up");
	end = now_ns() + SECONDS * SEC;
	while (now_ns() < end) {
		if (random() % 20 == 0 && !calls)
			iso_pin(0);
		if (random() % 50 == 0)
			iso_pin(random() % 2 ? 1 : 0);
		if (random() % 3)
			any_ioctl(fd, edge);
		else
			any_write();
		if (random() % 100 == 0)
			mmap(NULL, 4096UL * (size_t)(random() % 3), (int)random() % 8,
			     random() % 2 ? MAP_SHARED : MAP_PRIVATE, fd,
			     4096 * (random() % 2));
	}
	diag("seed %d: %lu calls, %lu taken", SEED, calls, taken);
	ok(calls > 1000 && taken > 10, "there was something to survive");
	do {
		struct isolator_stop_args args = { .size = sizeof(args) };

		error = ioctl(fd, ISOLATOR_IOC_STOP, &args) ? errno : 0;
	} while (!error && ++stops < 100000);
	ok(error == ESRCH || error == ECANCELED, "after %d stops: %s", stops, strerror(error));
	put_file("/proc/isolator/cpus", "1");
	get_file("/proc/isolator/status", status, sizeof(status));
	ok(strstr(status, "isolated \n"), "nothing is left isolated");
	iso_pin(0);
	w->tick_ms = 10;
	if (ok(worker_process(w), "isolation still works"))
		worker_end(w);
	return done_testing();
}

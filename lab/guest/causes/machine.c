// SPDX-License-Identifier: GPL-2.0-or-later
/* Clocks, CPUs and files of the kernel, as the causes need them. */
#include "cause.h"

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void sleep_until(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

void spin_until(uint64_t ns)
{
	while (now_ns() < ns)
		;
}

int pin(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(tid, sizeof(set), &set) ? -errno : 0;
}

int set_fifo(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	return sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &param) ? -errno : 0;
}

int file_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

long file_number(const char *path)
{
	FILE *f = fopen(path, "re");
	long value = -1;

	if (f && fscanf(f, "%ld", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

long interrupts(const char *name, int cpu)
{
	FILE *f = fopen("/proc/interrupts", "re");
	long value = -1;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		char *word = strtok(line, " \n");

		if (!word || strcmp(word, name))
			continue;
		for (int i = 0; word && i <= cpu; i++)
			word = strtok(NULL, " \n");
		if (word)
			value = strtol(word, NULL, 10);
		break;
	}
	if (f)
		fclose(f);
	return value;
}

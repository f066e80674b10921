/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interrupt of the first serial port: where it goes, and how to make it happen. */
#ifndef LAB_SERIALIRQ_H
#define LAB_SERIALIRQ_H

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>
#include "trigger.h"

struct serialirq {
	int fd, number;
	char home[64];	/* its affinity before */
};

static inline int serialirq_file(const struct serialirq *irq, const char *file, int flags)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/irq/%d/%s", irq->number, file);
	fd = open(name, flags);
	need(fd >= 0);
	return fd;
}

static inline void serialirq_get(const struct serialirq *irq, const char *file,
				 char *text, size_t size)
{
	int fd = serialirq_file(irq, file, O_RDONLY);
	ssize_t n = read(fd, text, size - 1);

	need(n > 0);
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	close(fd);
}

/* Sets the affinity; 0 or an error. */
static inline int serialirq_set(const struct serialirq *irq, const char *cpus)
{
	int fd = serialirq_file(irq, "smp_affinity_list", O_WRONLY);
	int error = write(fd, cpus, strlen(cpus)) < 0 ? errno : 0;

	close(fd);
	return error;
}

/* The port is open, so its interrupt is in use, until serialirq_close(). */
static inline void serialirq_open(struct serialirq *irq)
{
	FILE *f = fopen("/proc/tty/driver/serial", "r");
	char line[256];

	irq->number = -1;
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "0:", 2))
			sscanf(line, "0: uart:%*s port:%*s irq:%d", &irq->number);
	if (f)
		fclose(f);
	irq->fd = open("/dev/ttyS0", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (irq->number < 0 || irq->fd < 0)
		answer(false, "done", "missing: /dev/ttyS0 with an interrupt");
	serialirq_get(irq, "smp_affinity_list", irq->home, sizeof(irq->home));
}

/* Something is sent: the port interrupts when it is done. */
static inline void serialirq_happens(const struct serialirq *irq)
{
	static const char text[] = "isolab: serial\r\n";

	need(write(irq->fd, text, sizeof(text) - 1) == sizeof(text) - 1);
	need(!tcdrain(irq->fd));
}

/* How often it interrupted a CPU. */
static inline long serialirq_count(const struct serialirq *irq, int cpu)
{
	FILE *f = fopen("/proc/interrupts", "r");
	char line[512];
	long count = -1;

	need(f);
	while (fgets(line, sizeof(line), f)) {
		char *at;

		if (strtol(line, &at, 10) != irq->number || *at++ != ':')
			continue;
		for (int i = 0; i <= cpu; i++)
			count = strtol(at, &at, 10);
		break;
	}
	fclose(f);
	return count;
}

/* Where it was; it moves when it happens next. */
static inline bool serialirq_close(const struct serialirq *irq)
{
	char now[64];

	if (serialirq_set(irq, irq->home))
		return false;
	for (int i = 0; i < 3; i++)
		serialirq_happens(irq);
	serialirq_get(irq, "smp_affinity_list", now, sizeof(now));
	close(irq->fd);
	return !strcmp(now, irq->home);
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: irq-move
 * row: 123, 64
 * class: immediate
 * kind: program
 * arch: x86_64
 * needs: a serial port behind an interrupt of the ISA bus
 * notick: no
 * about: a device's interrupt is sent to the isolated CPU, and to nothing else, and back
 */
#include <termios.h>
#include "trigger.h"

enum { ROUNDS = 2, PATIENCE = 500 };

/* The first serial port, whose interrupt is in use while it is open. */
static int port, irq;

static void open_port(void)
{
	FILE *f = fopen("/proc/tty/driver/serial", "r");
	char line[256];

	irq = -1;
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "0:", 2))
			sscanf(line, "0: uart:%*s port:%*s irq:%d", &irq);
	if (f)
		fclose(f);
	port = open("/dev/ttyS0", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (irq < 0 || port < 0)
		answer(false, "done", "missing: /dev/ttyS0 with an interrupt");
}

/* What is sent makes the port interrupt; a new affinity takes effect by that. */
static void use_port(void)
{
	static const char text[] = "isolab: serial\r\n";

	need(write(port, text, sizeof(text) - 1) == sizeof(text) - 1);
	need(!tcdrain(port));
}

static int affinity(int flags)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/irq/%d/smp_affinity_list", irq);
	fd = open(name, flags);
	need(fd >= 0);
	return fd;
}

static void get_affinity(char *cpus, size_t size)
{
	int fd = affinity(O_RDONLY);
	ssize_t n = read(fd, cpus, size - 1);

	need(n > 0);
	cpus[n] = 0;
	cpus[strcspn(cpus, "\n")] = 0;
	close(fd);
}

static void set_affinity(const char *cpus)
{
	int fd = affinity(O_WRONLY);

	need(write(fd, cpus, strlen(cpus)) == (ssize_t)strlen(cpus));
	close(fd);
}

/* How often it interrupted a CPU. */
static long interrupts(int cpu)
{
	FILE *f = fopen("/proc/interrupts", "r");
	char line[512];
	long count = -1;

	need(f);
	while (fgets(line, sizeof(line), f)) {
		char *at;

		if (strtol(line, &at, 10) != irq || *at++ != ':')
			continue;
		for (int i = 0; i <= cpu; i++)
			count = strtol(at, &at, 10);
		break;
	}
	fclose(f);
	return count;
}

/* Sends the interrupt to other CPUs and uses it until it comes to none but them. */
static bool move(const char *cpus, int iso, bool there)
{
	char now[64];

	set_affinity(cpus);
	get_affinity(now, sizeof(now));
	for (int wait = 0; wait < PATIENCE; wait++) {
		long before = interrupts(iso);

		use_port();
		if ((interrupts(iso) > before) == there)
			return !strcmp(now, cpus);
		usleep(2000);
	}
	return false;
}

int main(void)
{
	int iso = env_number("ISO_CPU"), moved = 0;
	char home[64], only[16];
	long before;

	snprintf(only, sizeof(only), "%d", iso);
	open_port();
	before = interrupts(iso);
	get_affinity(home, sizeof(home));
	for (int i = 0; i < ROUNDS; i++) {
		moved += move(only, iso, true);
		moved += move(home, iso, false);
	}
	close(port);
	answer(moved == 2 * ROUNDS, "done",
	       "interrupt %d moved %d times of %d; it came to CPU %d %ld times", irq, moved,
	       2 * ROUNDS, iso, interrupts(iso) - before);
}

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

enum { ROUNDS = 2, PATIENCE = 5000 };

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

/* How often it interrupted the isolated CPU, and all others together. */
struct taken {
	long there, elsewhere;
};

static struct taken interrupts(int iso)
{
	FILE *f = fopen("/proc/interrupts", "r");
	struct taken taken = { 0, 0 };
	char line[512];

	need(f);
	while (fgets(line, sizeof(line), f)) {
		char *at, *end;

		if (strtol(line, &at, 10) != irq || *at++ != ':')
			continue;
		for (int cpu = 0;; cpu++, at = end) {
			long count = strtol(at, &end, 10);

			if (end == at || (*end != ' ' && *end != '\n'))
				break;
			*(cpu == iso ? &taken.there : &taken.elsewhere) += count;
		}
		break;
	}
	fclose(f);
	return taken;
}

/*
 * Sends the interrupt to the isolated CPU, or to others, and uses it until it has come: a CPU
 * that takes interrupts only now and then takes it long after the port was used.
 */
static bool move(const char *cpus, int iso, bool there)
{
	struct taken before;
	char now[64];

	set_affinity(cpus);
	get_affinity(now, sizeof(now));
	before = interrupts(iso);
	for (int wait = 0; wait < PATIENCE; wait++) {
		struct taken after;

		use_port();
		after = interrupts(iso);
		if (there && after.there > before.there)
			return !strcmp(now, cpus);
		if (!there && after.elsewhere > before.elsewhere && after.there == before.there)
			return !strcmp(now, cpus);
		if (!there)
			before = after;
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
	before = interrupts(iso).there;
	get_affinity(home, sizeof(home));
	for (int i = 0; i < ROUNDS; i++) {
		moved += move(only, iso, true);
		moved += move(home, iso, false);
	}
	close(port);
	answer(moved == 2 * ROUNDS, "done",
	       "interrupt %d moved %d times of %d; it came to CPU %d %ld times", irq, moved,
	       2 * ROUNDS, iso, interrupts(iso).there - before);
}

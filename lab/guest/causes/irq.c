// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A device's interrupts: a spare serial port, whose interrupt the measured CPU takes,
 * sends bytes.  The emulated port takes them as fast as it gets them, so that the handler
 * goes on as long as there are any.  On PREEMPT_RT it is a thread.
 */
#include <sys/ioctl.h>
#include <termios.h>
#include <linux/serial.h>
#include "cause.h"

/* As the lab's command line for QEMU has it: no other port shares it. */
#define PORT	"/dev/ttyS2"
#define IRQ	5
#define LINE	"5:"
#define AFFINITY "/proc/irq/5/smp_affinity_list"
enum { WARM_BYTES = 64, WARM_ROUNDS = 20, CHUNK = 4096 };

static int port = -1;

static int send_bytes(long count)
{
	char bytes[CHUNK];

	memset(bytes, 'u', sizeof(bytes));
	while (count > 0) {
		ssize_t n = write(port, bytes, count < CHUNK ? (size_t)count : CHUNK);

		if (n < 0)
			return -errno;
		count -= n;
	}
	return tcdrain(port) ? -errno : 0;
}

/*
 * At boot the kernel takes this port for one that shares the first one's interrupt, and
 * cannot start it.  It is told better, and starts when it is opened the next time.
 */
static int set_irq(void)
{
	int fd = open(PORT, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), error = 0;
	struct serial_struct serial;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, TIOCGSERIAL, &serial)) {
		error = -errno;
	} else if (serial.irq != IRQ) {
		serial.irq = IRQ;
		error = ioctl(fd, TIOCSSERIAL, &serial) ? -errno : 0;
	}
	close(fd);
	return error;
}

static int prepare(const struct aim *aim, long size)
{
	struct termios mode;
	char cpu[12];
	long before;
	int error;

	error = set_irq();
	if (error)
		return error;
	port = open(PORT, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (port < 0 || tcgetattr(port, &mode))
		return -errno;
	cfmakeraw(&mode);
	mode.c_cflag |= CLOCAL;
	cfsetspeed(&mode, B115200);
	if (tcsetattr(port, TCSANOW, &mode) || fcntl(port, F_SETFL, 0))
		return -errno;
	snprintf(cpu, sizeof(cpu), "%d", aim->cpu);
	error = file_put(AFFINITY, cpu);
	/* An interrupt moves to its new CPU when it comes the next time. */
	before = interrupts(LINE, aim->cpu);
	for (int i = 0; !error && i < WARM_ROUNDS && interrupts(LINE, aim->cpu) == before; i++)
		error = send_bytes(WARM_BYTES);
	return error;
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	long before = interrupts(LINE, aim->cpu), came;
	int error;

	truth->from_ns = now_ns();
	error = send_bytes(size);
	truth->to_ns = now_ns();
	came = interrupts(LINE, aim->cpu) - before;
	truth->happened = came > 0;
	snprintf(truth->evidence, sizeof(truth->evidence), "\"interrupts\":%ld", came);
	return error;
}

static void restore(const struct aim *aim)
{
	char cpu[12];

	snprintf(cpu, sizeof(cpu), "%d", aim->other);
	file_put(AFFINITY, cpu);
	close(port);
	port = -1;
}

CAUSE(irq, "irq", "bytes", prepare, inject, restore);

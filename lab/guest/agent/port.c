// SPDX-License-Identifier: GPL-2.0-or-later
/* Serial ports: what is sent comes as it is; one more than the kernel gives an interrupt. */
#include <fcntl.h>
#include <linux/serial.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "agent.h"

#define ORDERS_IRQ	7	/* as the lab tells the emulator */

void port_raw(int port)
{
	struct termios t;

	if (tcgetattr(port, &t))
		return;
	cfmakeraw(&t);
	cfsetspeed(&t, B115200);
	tcsetattr(port, TCSANOW, &t);
}

/*
 * At boot the kernel takes this port for one that shares another one's interrupt, and cannot
 * start it.  It is told better, and starts when it is opened the next time.
 */
int port_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct serial_struct serial;
	bool told = false;

	if (fd >= 0 && !ioctl(fd, TIOCGSERIAL, &serial)) {
		serial.irq = ORDERS_IRQ;
		told = !ioctl(fd, TIOCSSERIAL, &serial);
	}
	if (fd >= 0)
		close(fd);
	return told ? open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC) : -1;
}

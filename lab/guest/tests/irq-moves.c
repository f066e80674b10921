// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: irq-moves
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 60
 * append: irqaffinity=0
 * about: an interrupt that goes elsewhere only when it comes next is not said to be moved away
 */
#include <termios.h>
#include "../test.h"

/* The console's port, which interrupts when it has sent. */
#define PORT	"/dev/ttyS0"
#define IRQ	"4"
#define ASKED	"/proc/irq/" IRQ "/smp_affinity_list"
#define THERE	"/proc/irq/" IRQ "/effective_affinity_list"

static int port;

static bool sends(void)
{
	return write(port, "\n", 1) == 1 && !tcdrain(port);
}

/* Without interrupt remapping it moves in its own handler. */
static bool moves_to(const char *cpu)
{
	return !put_file(ASKED, cpu) && comes(sends() && file_has(THERE, cpu, NULL), 5000);
}

/* Does a start on CPU 1 say that all are moved away? */
static bool moved_away(void)
{
	struct iso iso = { .fd = -1 };

	if (iso_start(&iso, 0, 0))
		bail_out("CPU 1 cannot be isolated");
	if (iso_stop(&iso))
		bail_out("the isolation of CPU 1 does not end");
	iso_close(&iso);
	return iso.start.got & ISOLATOR_GOT_IRQS;
}

int main(void)
{
	iso_require(2);
	port = open(PORT, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (port < 0 || iso_pin(1))
		bail_out(PORT);
	ok(moves_to("0"), "the interrupt of " PORT " comes to CPU 0");
	ok(moved_away(), "a start on CPU 1 has all moved away");
	ok(moves_to("1"), "now it comes to CPU 1");
	ok(!put_file(ASKED, "0") && file_has(THERE, "1", NULL),
	   "it is sent to CPU 0, and comes to CPU 1 once more first");
	ok(!moved_away(), "a start on CPU 1 does not say that it was moved away");
	ok(moves_to("0"), "it has come, and gone");
	ok(moved_away(), "a start says so");
	return done_testing();
}

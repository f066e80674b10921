/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Periodic interrupts of the real-time clock, and when a thread that reads them runs.
 * Since Linux 2.6.38 the kernel makes these itself, by a high-resolution timer of its own:
 * the chip is not asked, and what is measured is that timer's way to the thread.
 */
#ifndef RTC_H
#define RTC_H

#include "sampling/method.h"

#define RTC_RATE_MIN 2
#define RTC_RATE_MAX 8192

struct rtc_options {
	const char *path;	/* /dev/rtc0 */
	unsigned int rate;	/* interrupts a second, a power of two */
};

/*
 * The timer's grid: it began between @began_ns and @known_ns, by which lateness is told
 * too large by their difference at most.
 */
struct rtc_grid {
	uint64_t began_ns, known_ns;
	uint64_t period_ns;
	uint64_t trigger;	/* the next one */
};

/* The kernel's period: whole ns. */
struct rtc_grid rtc_grid(uint64_t began_ns, uint64_t known_ns, unsigned int rate);

/*
 * read() gave @data at @now_ns.  Each interrupt that it tells of has a value, also if
 * several are told at once; those before @worker begins or after it ends are none.
 */
void rtc_take(struct worker *worker, struct rtc_grid *grid, unsigned long data, uint64_t now_ns);

/* Its options are struct rtc_options. */
extern const struct method rtc_method;

#endif

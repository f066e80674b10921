/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Timed wake-ups: how late a thread runs that has asked to be woken at a time. */
#ifndef WAKEUP_H
#define WAKEUP_H

#include <stdbool.h>

#include "sampling/method.h"

/* What becomes of triggers that were due while an earlier one was waited for. */
struct wakeup_options {
	bool late_missing;	/* they are missing, else each is measured, late as it is */
};

extern const struct method wakeup_nanosleep, wakeup_timerfd;

#endif

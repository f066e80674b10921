/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trigger of kind self: a function of the spinner's own process, run in a
 * sibling thread of the isolated one.  SELF_TRIGGER() is all that a file below
 * lab/triggers needs to be found.
 */
#ifndef LAB_SELFTRIGGER_H
#define LAB_SELFTRIGGER_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct self_answer {
	bool worked;
	char detail[200];
};

struct self_trigger {
	const char *name;
	void (*run)(struct self_answer *answer);
};

#define SELF_TRIGGER(id, text, function)				\
	static const struct self_trigger trigger_##id			\
	__attribute__((used, section("self_triggers"), aligned(8))) =	\
		{ text, function }

extern const struct self_trigger __start_self_triggers[], __stop_self_triggers[];

/* Fills the answer; worked says whether the effect was seen. */
void self_say(struct self_answer *answer, bool worked, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif

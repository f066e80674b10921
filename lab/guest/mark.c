// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mark: marks windows around a program that cannot mark any itself.  Pinned to the CPU
 * that is to be observed: "mark target"; elsewhere, while that program runs there:
 * "mark begin ID" and "mark end ID".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "marker.h"

#define PROBES 10

MARK_ASK_TABLE();
extern const char mark_ask_begin_table[], mark_ask_end_table[];

/* Deliberate entries, to show that the observer counts this CPU's. */
static void target(void)
{
	mark_target();
	for (int i = 0; i < PROBES; i++) {
		mark_probe();
		syscall(SYS_getpid);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned int id = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;

	if (!strcmp(what, "target") && argc == 2)
		target();
	else if (!strcmp(what, "begin") && id && id < MARK_WINDOWS)
		mark_window(mark_ask_begin_table, id);
	else if (!strcmp(what, "end") && id && id < MARK_WINDOWS)
		mark_window(mark_ask_end_table, id);
	else {
		fprintf(stderr, "usage: mark target | mark begin ID | mark end ID, ID from 1 to %d\n",
			MARK_WINDOWS - 1);
		return 1;
	}
	return 0;
}

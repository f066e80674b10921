/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the program `instants` in a guest and the plugin lab/observer/park.c agree upon.  The
 * program makes marks (marker.h) with the operation MARK_PARK; their number says what is
 * wanted.  The plugin reads the program's memory at PARK_PAGE, as it makes ARM and END.
 */
#ifndef LAB_PARK_H
#define LAB_PARK_H

#include <stdint.h>

#define PARK_PAGE	0x10000000ul

enum park_mark {
	PARK_OWN = 1,	/* the isolated task: its next entry is its own */
	PARK_ARM,	/* a trial begins: struct park_trial is filled in */
	PARK_WAIT,	/* until the isolated CPU stands at its gate, or is past */
	PARK_BEGIN,	/* the request begins */
	PARK_DONE,	/* and has come back: the isolated CPU goes on */
	PARK_SETTLE,	/* until that was in user mode for a while */
	PARK_END,	/* the trial is over: results are filled in */
};

#define PARK_RESULTS	16

struct park_trial {
	uint32_t trial;
	uint32_t nth;		/* it is parked as it comes there so many times more than once */
	uint64_t pc;		/* where it is parked; 0: nowhere, the path is written down */
	uint64_t hold;		/* where the sender is held until the other is parked; 0: not */
	uint64_t gate;		/* where the other waits until the sender is held; 0: the vector */
	uint64_t results[PARK_RESULTS];
};

#endif

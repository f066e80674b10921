/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What isolator prove shows of a run. */
#ifndef PROVE_H
#define PROVE_H

#include <stdio.h>

#include "prove/watcher.h"

struct prove_view {
	const struct watch *watch;
	bool plain;	/* it was asked not to isolate */
	bool colours;
};

void prove_text(FILE *out, const struct prove_view *view);
void prove_json(FILE *out, const struct prove_view *view);

/* What kept others off the CPU. */
const char *prove_how(enum spin_how how);

#endif

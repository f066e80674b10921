// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "live.h"
#include "term.h"
#include "text.h"
#include "wait.h"

void live_show(void (*draw)(FILE *out, const void *view), const void *view)
{
	char *text;
	size_t size;
	FILE *out = text_open(&text, &size);

	draw(out, view);
	fclose(out);
	term_show(stdout, text);
	fflush(stdout);
	free(text);
}

uint64_t live_next(uint64_t last_ns, uint64_t interval_ns)
{
	uint64_t now = wait_clock_ns();

	return last_ns + interval_ns < now ? now : last_ns + interval_ns;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <unistd.h>

#include "base/live.h"
#include "base/screen.h"
#include "base/term.h"
#include "base/text.h"
#include "base/wait.h"

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

bool live_attend(uint64_t next_ns, bool (*obey)(int key, void *view),
		 void (*draw)(FILE *out, const void *view), void *view)
{
	for (;;) {
		int key;

		switch (wait_input(STDIN_FILENO, next_ns)) {
		case WAIT_TIME:
			return true;
		case WAIT_OVER:
			return false;
		case WAIT_SIGNAL:
			screen_signal();
			break;
		case WAIT_INPUT:
			while ((key = screen_key()) != SCREEN_NONE)
				if (!obey(key, view))
					return false;
			break;
		}
		live_show(draw, view);
	}
}

uint64_t live_next(uint64_t last_ns, uint64_t interval_ns)
{
	uint64_t now = wait_clock_ns();

	return last_ns + interval_ns < now ? now : last_ns + interval_ns;
}

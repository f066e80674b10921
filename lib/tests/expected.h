/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A failure that is ordered from the fake device, and the text that it is to get. */
#ifndef EXPECTED_H
#define EXPECTED_H

#include "check.h"
#include "fake.h"

struct expected {
	int *where;		/* the failure, as of struct fake */
	int error;
	const char *names;	/* what the text must have in it */
};

/* A fresh device that fails so. */
static inline void expected_order(const struct expected *expected)
{
	fake_reset();
	*expected->where = expected->error;
}

static inline void expected_text(const struct expected *expected)
{
	const char *text = isolator_strerror(expected->error);

	if (!strstr(text, expected->names)) {
		printf("# errno %d: \"%s\" does not name %s\n", expected->error, text,
		       expected->names);
		CHECK(!"text");
	}
}

#endif

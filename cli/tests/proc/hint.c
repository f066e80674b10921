// SPDX-License-Identifier: GPL-2.0-or-later
/* What is known of a cause, by its name. */
#include <string.h>

#include "base/array.h"
#include "check.h"
#include "proc/hint.h"

static void hints(void)
{
	const char *known = hint("call", "flush_tlb_func");

	CHECK_TEXT(hint("call", "flush_tlb_func.constprop.0"), known);
	CHECK(strcmp(known, hint("call", "flush_tlb_func2")));
	CHECK(strstr(hint("call", "ack_flush[kvm]"), "please report it"));
	CHECK_TEXT(hint("call", "do_sync_core [x]"), hint("call", "do_sync_core"));
	CHECK(strstr(hint("thread", NULL), "TICK_YIELD"));
	CHECK(strstr(hint("telepathy", NULL), "does not know"));
}

static const struct test tests[] = {
	{ "hints", hints },
};

int main(void)
{
	return check_run(tests, ARRAY_SIZE(tests));
}

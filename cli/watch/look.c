// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/wait.h"
#include "watch/look.h"

static const struct cpulist all = { 0 };

static int fail(const char *root, const char *why, int error)
{
	const char *fix = !root_live(root) ? "does --root name a recorded machine?" :
		error == EACCES || error == EPERM ? error_denied() :
		"mount /proc";

	error_say("cannot read %s" INTERRUPTS_PATH ", so there is nothing to watch: %s: %s",
		  root_live(root) ? "" : root, why, fix);
	return -1;
}

int look_take(struct look *look, const char *root)
{
	char *text;

	*look = (struct look){ .taken_ns = wait_clock_ns() };
	text = setting_read(root, INTERRUPTS_PATH);
	if (!text)
		return fail(root, strerror(errno), errno);
	interrupts_parse(&look->lists[LOOK_INTERRUPTS], text, &all);
	free(text);
	if (!look->lists[LOOK_INTERRUPTS].known)
		return fail(root, "its first line names no CPU", 0);
	text = setting_read(root, SOFTIRQS_PATH);
	if (!text)
		look->softirqs_error = errno;
	else if (!interrupts_parse(&look->lists[LOOK_SOFTIRQS], text, &all))
		look->softirqs_error = EBADMSG;
	free(text);
	return 0;
}

void look_free(struct look *look)
{
	for (size_t i = 0; i < LOOK_LISTS; i++)
		interrupts_free(&look->lists[i]);
	*look = (struct look){ 0 };
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Why a journal cannot be locked. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "check.h"
#include "journal/store.h"

/* A kernel without locks is no other command. */
static void locks(void)
{
	CHECK(strstr(store_lock_error(EWOULDBLOCK), "another isolator command"));
	CHECK(strstr(store_lock_error(ENOSYS), "CONFIG_FILE_LOCKING"));
}

static const struct test tests[] = {
	{ "locks", locks },
};

int main(void)
{
	return check_run(tests, ARRAY_SIZE(tests));
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* A kernel that is older or newer than the library: it is said, and what both know works. */
#include <sys/ioctl.h>

#include "check.h"
#include "fake.h"

#define NR(request) (1U << _IOC_NR(request))

static bool says(int error, const char *words)
{
	const char *text = isolator_strerror(error);

	if (strstr(text, words))
		return true;
	printf("# \"%s\" has no \"%s\"\n", text, words);
	return false;
}

/* Its structure has another size, and so its request another number. */
static void another_start(void)
{
	fake.unknown = NR(ISOLATOR_IOC_START);
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_ALL), -EPROTO);
	CHECK(says(EPROTO, "older or newer than this libisolator"));
	/* Asking what kind of device it is stops nothing. */
	CHECK_EQUAL(fake.stops, 1);
	CHECK(isolator_page() == NULL);
	CHECK_EQUAL(isolator_due(), 0);
}

static void another_start_within_one(void)
{
	CHECK(isolator_start(ISOLATOR_MASK_CLOCK) > 0);
	fake.unknown = NR(ISOLATOR_IOC_START);
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_IPI), -EPROTO);
	CHECK_EQUAL(isolator_page()->state, ISOLATOR_STATE_ON);
	CHECK_EQUAL(isolator_stop(), 0);
}

static void another_device(void)
{
	fake.foreign = true;
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_ALL), -ENOTTY);
	CHECK(says(ENOTTY, "isolator_options.device"));
}

static void page(int version, const char *words)
{
	fake.page_version = version;
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_ALL), -EPROTO);
	CHECK(says(EPROTO, words));
	/* What was started is undone: without its page every tick would enter the kernel. */
	CHECK_EQUAL(fake.stops, 1);
	CHECK(isolator_page() == NULL);
}

static void newer_page(void)
{
	page(ISOLATOR_PAGE_VERSION + 1, "newer than this libisolator");
}

static void older_page(void)
{
	page(-1, "older than this libisolator");
}

/* One that cannot isolate another thread: all else works. */
static void without_tasks(void)
{
	fake.unknown = NR(ISOLATOR_IOC_START_TASK) | NR(ISOLATOR_IOC_STOP_TASK);
	CHECK_EQUAL(isolator_start_task(1, NULL, NULL), -ENOTTY);
	CHECK(says(ENOTTY, "does not know its start of another thread"));
	CHECK_EQUAL(isolator_stop_task(1), -ENOTTY);
	CHECK(says(ENOTTY, "does not know its stop of another thread"));
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_ALL), ISOLATOR_MASK_ALL);
	fake_due(ISOLATOR_DUE_CALL);
	CHECK_EQUAL(isolator_tick(TICK_ALL), 0);
	CHECK_EQUAL(fake.ticks, 1);
	CHECK_EQUAL(isolator_stop(), 0);
}

/* A newer one says more than the library knows: a bit that is due, a reason of the end. */
static void says_more(void)
{
	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	fake_due(1U << 31);
	CHECK_EQUAL(isolator_due(), 1U << 31);
	CHECK_EQUAL(isolator_tick(TICK_ALL), 0);
	CHECK_EQUAL(fake.ticks, 1);
	fake_end(ISOLATOR_END_ADMIN + 1);
	CHECK_EQUAL(isolator_tick(TICK_ALL), -ECANCELED);
	CHECK(strstr(isolator_strend(isolator_page()->end), "does not know") != NULL);
}

static const struct test tests[] = {
	{ "a start of another form is told, and undoes nothing", another_start },
	{ "the same within one that is in force, which stays", another_start_within_one },
	{ "another device is told apart", another_device },
	{ "a page of a newer kernel", newer_page },
	{ "a page of an older kernel", older_page },
	{ "a kernel without the start of other threads: all else works", without_tasks },
	{ "a newer kernel says what the library does not know", says_more },
};

int main(void)
{
	return check_run_each(tests, sizeof(tests) / sizeof(tests[0]), fake_reset);
}

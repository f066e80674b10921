// SPDX-License-Identifier: LGPL-2.1-or-later
/* Every error that the kernel documents has a text of its own that names the fix. */
#include "check.h"
#include "expected.h"
#include "fake.h"

static const struct expected expected[] = {
	{ &fake.fail_open, ENOENT, "CONFIG_ISOLATOR" },
	{ &fake.fail_open, ENODEV, "CONFIG_ISOLATOR" },
	{ &fake.fail_open, ENXIO, "CONFIG_ISOLATOR" },
	{ &fake.fail_open, EACCES, "udev" },
	{ &fake.fail_open, EPERM, "container" },
	{ &fake.fail_open, EMFILE, "RLIMIT_NOFILE" },
	{ &fake.fail_lock, EPERM, "RLIMIT_MEMLOCK" },
	{ &fake.fail_lock, ENOMEM, "RLIMIT_MEMLOCK" },
	{ &fake.fail_start, EPERM, "CAP_SYS_NICE" },
	{ &fake.fail_start, EINVAL, "ISOLATOR_MASK_" },
	{ &fake.fail_start, ERANGE, "deadline_ns" },
	{ &fake.fail_start, ENOTUNIQ, "taskset" },
	{ &fake.fail_start, EACCES, "/proc/isolator/cpus" },
	{ &fake.fail_start, EBUSY, "housekeeping" },
	{ &fake.fail_start, EALREADY, "another thread" },
	{ &fake.fail_start, EAGAIN, "high-resolution" },
	{ &fake.fail_start, EOPNOTSUPP, "dmesg" },
	{ &fake.fail_start, E2BIG, "older than this libisolator" },
	{ &fake.fail_start, EINTR, "again" },
	{ &fake.fail_map, ENOMEM, "max_map_count" },
	{ &fake.fail_map, EAGAIN, "RLIMIT_MEMLOCK" },
};

static void each_start_error(void)
{
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		/* The descriptor stays open once there is one: errors of open come
		 * first in the table.
		 */
		expected_order(&expected[i]);
		CHECK_EQUAL(isolator_start(ISOLATOR_MASK_ALL), -expected[i].error);
		expected_text(&expected[i]);
		CHECK(strcmp(isolator_strerror(expected[i].error),
			     isolator_strerror(-expected[i].error)) == 0);
	}
}

static void tick_and_stop_errors(void)
{
	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	CHECK_EQUAL(isolator_tick_now(1U << 31), -EINVAL);
	CHECK(strstr(isolator_strerror(EINVAL), "TICK_SCHED") != NULL);
	fake.fail_tick = ERANGE;
	CHECK_EQUAL(isolator_tick_now(TICK_ALL), -ERANGE);
	CHECK(strstr(isolator_strerror(ERANGE), "yield_ns") != NULL);
	fake.fail_tick = EINTR;
	CHECK_EQUAL(isolator_tick_now(TICK_ALL), -EINTR);
	CHECK(strstr(isolator_strerror(EINTR), "stays due") != NULL);
	CHECK_EQUAL(isolator_stop(), 0);
	CHECK_EQUAL(isolator_tick_now(TICK_ALL), -ESRCH);
	CHECK(strstr(isolator_strerror(ESRCH), "isolator_start()") != NULL);
	CHECK_EQUAL(isolator_stop(), -ESRCH);
	CHECK(strstr(isolator_strerror(ESRCH), "isolator_stop()") != NULL);
}

static void others(void)
{
	CHECK(strcmp(isolator_strerror(0), "no error") == 0);
	CHECK(strstr(isolator_strerror(EIO), "errno 5") != NULL);
	CHECK(strstr(isolator_strerror(123456), "unknown error") != NULL);
}

/* What a failure meant is known though another call has failed since. */
static void earlier(void)
{
	struct isolator_channel *channel;

	fake.fail_start = EALREADY;
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_ALL), -EALREADY);
	CHECK(isolator_channel_open(-1, 0, &channel) < 0);
	CHECK(strstr(isolator_strerror(EALREADY), "another thread") != NULL);
	for (int i = 0; i < 8; i++) {
		CHECK(isolator_stop() == -ESRCH);
		CHECK(isolator_channel_open(-1, 0, &channel) < 0);
	}
	/* Too many since, and several calls return it: nothing that may be wrong. */
	CHECK(strstr(isolator_strerror(EALREADY), "errno 114") != NULL);
}

static void *ask(void *text)
{
	*(const char **)text = strdup(isolator_strerror(EALREADY));
	return NULL;
}

/* Of another thread's failure nothing is known. */
static void of_another_thread(void)
{
	const char *text = NULL;
	pthread_t thread;

	fake.fail_start = EALREADY;
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_ALL), -EALREADY);
	fake.fail_start = 0;
	CHECK(strstr(isolator_strerror(EALREADY), "another thread") != NULL);
	CHECK(!pthread_create(&thread, NULL, ask, &text) && !pthread_join(thread, NULL));
	CHECK(text && strstr(text, "errno 114") != NULL);
	free((void *)text);
}

static void ends(void)
{
	for (unsigned int end = ISOLATOR_END_NONE; end <= ISOLATOR_END_ADMIN; end++) {
		CHECK(strlen(isolator_strend(end)) > 5);
		CHECK(strstr(isolator_strend(end), "does not know") == NULL);
	}
	CHECK(strstr(isolator_strend(ISOLATOR_END_ADMIN + 1), "does not know") != NULL);
}

static const struct test tests[] = {
	{ "each error of start names its fix", each_start_error },
	{ "errors of tick and stop", tick_and_stop_errors },
	{ "no error, foreign errors", others },
	{ "an earlier failure", earlier },
	{ "another thread's failure", of_another_thread },
	{ "every end has a text", ends },
};

int main(void)
{
	return check_run_each(tests, sizeof(tests) / sizeof(tests[0]), fake_reset);
}

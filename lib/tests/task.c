// SPDX-License-Identifier: LGPL-2.1-or-later
/* The isolation of another thread: what is asked of the kernel, what is given back. */
#include "check.h"
#include "expected.h"
#include "fake.h"

#define TID 4711

static void as_usual(void)
{
	CHECK_EQUAL(isolator_start_task(TID, NULL, NULL), ISOLATOR_MASK_ALL);
	CHECK_EQUAL(fake.task.tid, TID);
	CHECK_EQUAL(fake.task.flags, ISOLATOR_TASK_WAIT);
	CHECK_EQUAL(fake.task.start.flags, ISOLATOR_START_AUTO_TICK | ISOLATOR_START_LOCK);
	CHECK_EQUAL(fake.task.start.mask, ISOLATOR_MASK_ALL);
	CHECK_EQUAL(fake.task.start.batch_ns, 0);
	CHECK(strcmp(fake.path, "/dev/isolator") == 0);
	CHECK(fake.open_flags & O_CLOEXEC);
	/* Nothing is kept, and the caller itself is not touched. */
	CHECK_EQUAL(fake.opens, 1);
	CHECK_EQUAL(fake.closes, 1);
	CHECK_EQUAL(fake.locks, 0);
	CHECK_EQUAL(fake.maps, 0);
	CHECK(isolator_page() == NULL);
}

static void options_and_result(void)
{
	struct isolator_task_options options = ISOLATOR_TASK_OPTIONS_INIT;
	struct isolator_result result = ISOLATOR_RESULT_INIT;

	options.mask = ISOLATOR_MASK_CLOCK | ISOLATOR_MASK_IPI;
	options.flags = ISOLATOR_TASK_WAIT | ISOLATOR_TASK_EXEC;
	options.start_flags = ISOLATOR_START_AUTO_TICK;
	options.deadline_ns = 2000000000;
	options.spin_ns = 5000000;
	options.yield_ns = 50000;
	options.batch_ns = 20000000;
	fake.cannot_mask = ISOLATOR_MASK_IPI;
	CHECK_EQUAL(isolator_start_task(TID, &options, &result), ISOLATOR_MASK_CLOCK);
	CHECK_EQUAL(fake.task.flags, ISOLATOR_TASK_WAIT | ISOLATOR_TASK_EXEC);
	CHECK_EQUAL(fake.task.start.flags, ISOLATOR_START_AUTO_TICK);
	CHECK_EQUAL(fake.task.start.deadline_ns, 2000000000);
	CHECK_EQUAL(fake.task.start.spin_ns, 5000000);
	CHECK_EQUAL(fake.task.start.yield_ns, 50000);
	CHECK_EQUAL(fake.task.start.batch_ns, 20000000);
	CHECK_EQUAL(result.size, sizeof(result));
	CHECK_EQUAL(result.achieved, ISOLATOR_MASK_CLOCK);
	CHECK_EQUAL(result.got, ISOLATOR_GOT_LOCKED);
	CHECK_EQUAL(result.cpu, 2);
	CHECK_EQUAL(result.depth, 1);
	CHECK_EQUAL(result.deadline_ns, 2000000000);
	CHECK_EQUAL(result.batch_ns, 20000000);
}

static void without_the_wait(void)
{
	struct isolator_task_options options = ISOLATOR_TASK_OPTIONS_INIT;
	struct isolator_result result = ISOLATOR_RESULT_INIT;

	options.flags = ISOLATOR_TASK_EXEC;
	CHECK_EQUAL(isolator_start_task(TID, &options, &result), 0);
	CHECK_EQUAL(fake.task.flags, ISOLATOR_TASK_EXEC);
	/* Not known yet: not written. */
	CHECK_EQUAL(result.achieved, 0);
	CHECK_EQUAL(result.cpu, -1);
}

static void options_are_checked(void)
{
	struct isolator_task_options options = ISOLATOR_TASK_OPTIONS_INIT;
	struct {
		struct isolator_task_options known;
		uint64_t newer;
	} bigger = { ISOLATOR_TASK_OPTIONS_INIT, 0 };

	options.size--;
	CHECK_EQUAL(isolator_start_task(TID, &options, NULL), -EINVAL);
	CHECK(strstr(isolator_strerror(EINVAL), "ISOLATOR_TASK_OPTIONS_INIT") != NULL);
	CHECK_EQUAL(fake.opens, 0);
	bigger.known.size = sizeof(bigger);
	CHECK(isolator_start_task(TID, &bigger.known, NULL) > 0);
	bigger.newer = 1;
	CHECK_EQUAL(isolator_start_task(TID, &bigger.known, NULL), -E2BIG);
	CHECK_EQUAL(fake.task_starts, 1);
	/* Flags are the kernel's to judge: a newer one knows more of them. */
	options = (struct isolator_task_options)ISOLATOR_TASK_OPTIONS_INIT;
	options.flags = 1U << 31;
	CHECK_EQUAL(isolator_start_task(TID, &options, NULL), -EINVAL);
	CHECK_EQUAL(fake.task_starts, 2);
	CHECK_EQUAL(fake.closes, fake.opens);
}

static void stop(void)
{
	CHECK_EQUAL(isolator_stop_task(TID), 0);
	CHECK_EQUAL(fake.task.tid, TID);
	CHECK_EQUAL(fake.task.flags, 0);
	CHECK_EQUAL(fake.task_stops, 1);
	CHECK_EQUAL(fake.closes, 1);
}

static const struct expected expected[] = {
	{ &fake.fail_open, ENOENT, "CONFIG_ISOLATOR" },
	{ &fake.fail_open, EACCES, "udev" },
	{ &fake.fail_task_start, EPERM, "CAP_SYS_PTRACE" },
	{ &fake.fail_task_start, EINVAL, "ISOLATOR_START_" },
	{ &fake.fail_task_start, ERANGE, "batch_ns" },
	{ &fake.fail_task_start, ESRCH, "/proc/PID/task" },
	{ &fake.fail_task_start, ENOTUNIQ, "taskset -pc" },
	{ &fake.fail_task_start, EACCES, "/proc/isolator/cpus" },
	{ &fake.fail_task_start, EBUSY, "housekeeping" },
	{ &fake.fail_task_start, EALREADY, "isolator_stop_task()" },
	{ &fake.fail_task_start, EDEADLK, "ISOLATOR_TASK_WAIT" },
	{ &fake.fail_task_start, EINTR, "taken back" },
	{ &fake.fail_task_start, ECANCELED, "isolator_stop_task()" },
	{ &fake.fail_task_start, EAGAIN, "high-resolution" },
	{ &fake.fail_task_start, EOPNOTSUPP, "dmesg" },
	{ &fake.fail_task_start, ENOTTY, "older or newer" },
	{ &fake.fail_task_start, E2BIG, "of the other thread" },
	{ &fake.fail_task_start, ENOMEM, "memory" },
	{ &fake.fail_task_stop, ESRCH, "not isolated" },
	{ &fake.fail_task_stop, EPERM, "CAP_SYS_NICE" },
	{ &fake.fail_task_stop, ENOTTY, "older or newer" },
};

static void each_error(void)
{
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		bool stops = expected[i].where == &fake.fail_task_stop;

		expected_order(&expected[i]);
		CHECK_EQUAL(stops ? isolator_stop_task(TID) : isolator_start_task(TID, NULL, NULL),
			    -expected[i].error);
		expected_text(&expected[i]);
		/* A descriptor that was opened was closed. */
		CHECK_EQUAL(fake.closes, expected[i].where == &fake.fail_open ? 0 : 1);
	}
}

static const struct test tests[] = {
	{ "another thread, as usual", as_usual },
	{ "options reach the kernel, its answer reaches the result", options_and_result },
	{ "without the wait nothing is told", without_the_wait },
	{ "options are checked before anything is touched", options_are_checked },
	{ "stop", stop },
	{ "each error names its fix", each_error },
};

int main(void)
{
	return check_run_each(tests, sizeof(tests) / sizeof(tests[0]), fake_reset);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Orders on their way to the capture thread, and what is said of it meanwhile. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"
#include "capture.h"

static struct capture capture;

static void give(enum order_type type)
{
	capture_order(&capture, &(struct order){ .type = type });
}

/* As the thread does, which is not there. */
static void take(bool running)
{
	capture.active = running;
	capture.orders_taken = capture.orders_given;
}

static void test_running(void)
{
	CHECK(!capture_running(&capture));
	give(ORDER_START);
	CHECK(capture_running(&capture));
	take(true);
	CHECK(capture_running(&capture));
	give(ORDER_SETTINGS);
	CHECK(capture_running(&capture));
	give(ORDER_STOP);
	CHECK(!capture_running(&capture));
	take(false);
	CHECK(!capture_running(&capture));
}

/* All triggers were sent, and other orders wait: the last START says nothing any more. */
static void test_ran_out(void)
{
	give(ORDER_START);
	take(true);
	capture.active = false;
	give(ORDER_SETTINGS);
	CHECK(!capture_running(&capture) && capture_busy(&capture));
	take(false);
	CHECK(!capture_running(&capture));
}

int main(void)
{
	static const struct test tests[] = {
		{ "a start and a stop count from when they are given", test_running },
		{ "a start that ran out is over, whatever else waits", test_ran_out },
	};
	int code;

	capture.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (capture.wake < 0)
		return 1;
	code = check_run(tests, sizeof(tests) / sizeof(tests[0]));
	close(capture.wake);
	return code;
}

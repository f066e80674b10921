// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rate of a real-time clock that is measured, linked with --wrap for what asks the kernel:
 * here is a clock that has a rate, and a limit for whoever is not root.
 */
#include <stdarg.h>
#include <sys/ioctl.h>

#include <linux/rtc.h>

#include "check.h"
#include "measure/rtc.h"

#define FILE_NUMBER 4711
#define LIMIT 64

static struct {
	unsigned long rate;
	bool root, deaf;	/* deaf: it takes no rate, and does not say so */
	int closed;
} chip;

int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_close(int file);
int __real_close(int file);
int __wrap_ioctl(int file, unsigned long request, ...);

int __wrap_open(const char *path, int flags, ...)
{
	(void)flags;
	CHECK_TEXT(path, "/dev/rtc0");
	return FILE_NUMBER;
}

/* What open() is where files may be large. */
int __wrap_open64(const char *path, int flags, ...)
{
	return __wrap_open(path, flags);
}

int __wrap_close(int file)
{
	chip.closed += file == FILE_NUMBER;
	return file == FILE_NUMBER ? 0 : __real_close(file);
}

int __wrap_ioctl(int file, unsigned long request, ...)
{
	unsigned long argument;
	va_list list;

	va_start(list, request);
	argument = va_arg(list, unsigned long);
	va_end(list);
	CHECK_EQUAL(file, FILE_NUMBER);
	if (request == RTC_IRQP_READ) {
		*(unsigned long *)argument = chip.rate;
		return 0;
	}
	if (request == RTC_IRQP_SET && !chip.root && argument > LIMIT) {
		errno = EACCES;
		return -1;
	}
	if (request == RTC_IRQP_SET && !chip.deaf)
		chip.rate = argument;
	return 0;
}

static int arm(unsigned long before, bool root, unsigned int rate)
{
	const struct rtc_options options = { "/dev/rtc0", rate };

	chip.rate = before;
	chip.root = root;
	chip.closed = 0;
	return rtc_method.arm(&options, NULL, "/", NULL);
}

static bool disarm(void)
{
	const struct rtc_options options = { "/dev/rtc0", 0 };

	return rtc_method.disarm(NULL, &options);
}

static void rates(void)
{
	CHECK(!arm(2, true, 1024));
	CHECK(chip.rate == 1024 && !chip.closed);
	CHECK(disarm() && chip.rate == 2 && chip.closed == 1);
	CHECK(!arm(2, false, 64));
	CHECK(disarm() && chip.rate == 2 && chip.closed == 1);
}

/* What was not changed needs not be put back, nor what could not be. */
static void refused(void)
{
	CHECK(arm(2, false, 1024) == -1);
	CHECK(chip.rate == 2 && chip.closed == 1);
	CHECK(arm(1024, false, 64) == -1);
	CHECK(chip.rate == 1024 && chip.closed == 1);
}

static void deaf(void)
{
	chip.deaf = true;
	CHECK(arm(2, true, 1024) == -1);
	CHECK(chip.rate == 2 && chip.closed == 1);
	chip.deaf = false;
	CHECK(!arm(2, true, 1024));
	chip.deaf = true;
	CHECK(!disarm() && chip.closed == 1);
	chip.deaf = false;
}

int main(void)
{
	static const struct test tests[] = {
		{ "its rate is what it was", rates },
		{ "who could not put it back", refused },
		{ "a chip that has another rate", deaf },
	};

	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

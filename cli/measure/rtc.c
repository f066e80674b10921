// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator measure rtc: how late is a thread that reads the real-time clock's interrupts? */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "measure/measure.h"
#include "measure/rtc.h"

#define DEVICE "/dev/rtc0"
#define RATE 1024
#define RATE_USER 64	/* what the kernel lets anyone have */

static struct rtc_options rtc = { .path = DEVICE };

/* The rate whose period is nearest; the kernel knows powers of two. */
static unsigned int rate_of(uint64_t period_ns)
{
	unsigned int rate = RTC_RATE_MIN;

	while (rate < RTC_RATE_MAX && WAIT_SECOND / rate > period_ns + period_ns / 3)
		rate *= 2;
	return rate;
}

static int prepare(const struct measure_options *options, struct order *order,
		   struct result *result)
{
	int first = cpulist_next(&order->cpus, -1);
	char *text;

	if (cpulist_next(&order->cpus, first) >= 0)
		return error_say("%s: the real-time clock has only one reader: give one CPU",
				 error_option("cpu")), -1;
	order->method = &rtc_method;
	order->options = &rtc;
	result->method = order->method->name;
	if (access(DEVICE, F_OK)) {
		result->skipped = DEVICE " does not exist: this kernel has no real-time clock, or lacks its driver (CONFIG_RTC_INTF_DEV)";
		return 0;
	}
	rtc.rate = options->period_ns ? rate_of(options->period_ns) : geteuid() ? RATE_USER : RATE;
	order->period_ns = WAIT_SECOND / rtc.rate;
	result->phase = PHASE_FIXED;
	text = text_format("%u a second", rtc.rate);
	asked_add(&result->settings, "rate", text, text, true, true,
		  "the kernel makes these interrupts with a timer of its own (since 2.6.38), so the way from that timer to the thread is measured, not the chip");
	free(text);
	return 0;
}

const struct measure rtc_measure = {
	.name = "rtc",
	.what = "interrupts of the real-time clock",
	.one = true,
	.policy = POLICY_FIFO,
	.prepare = prepare,
};

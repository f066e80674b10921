// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator measure latency: how late does a thread run that waits for a time? */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/error.h"
#include "measure/fed.h"
#include "measure/measure.h"
#include "measure/timerlat.h"
#include "measure/wakeup.h"

#define PERIOD_NS UINT64_C(200000)
#define PERIOD_MIN_NS 10000
#define PERIOD_MAX_NS UINT64_C(10000000000)

#define TIMERLAT_PERIOD_NS UINT64_C(1000000)
#define TIMERLAT_PRIORITY 90

static struct wakeup_options wakeup;
static struct timerlat_options timerlat;
static struct policy timerlat_got = { .kind = POLICY_UNKNOWN };

static uint64_t new_seed(void)
{
	uint32_t seed = 0;

	/* That it is not random is no harm: it is told. */
	if (getrandom(&seed, sizeof(seed), 0) < 0)
		return 1;
	return seed;
}

/* The tracer has its own schedule. */
static int prepare_timerlat(const struct measure_options *options, struct order *order,
			    struct result *result)
{
	uint64_t period_ns = options->period_ns ? options->period_ns : TIMERLAT_PERIOD_NS;

	if (options->phase == 0 || options->seed != MEASURE_UNSAID || options->late != MEASURE_UNSAID)
		return error_say("--phase random, --seed and --late do not go with timerlat: the kernel's timer is periodic"), -1;
	if (period_ns < TIMERLAT_PERIOD_MIN_NS || period_ns > TIMERLAT_PERIOD_MAX_NS)
		return error_say("--period: the kernel's timerlat takes 100us to 1s"), -1;
	if (options->policy == POLICY_DEADLINE)
		return error_say("--policy deadline does not go with timerlat: use fifo, rr or other"), -1;
	timerlat_set(&timerlat, &order->cpus, period_ns);
	timerlat.root = options->root;
	timerlat.got = &timerlat_got;
	timerlat.policy = (struct policy){
		.kind = options->policy == MEASURE_UNSAID ? POLICY_FIFO :
			(enum policy_kind)options->policy,
		.priority = options->priority == MEASURE_UNSAID ? TIMERLAT_PRIORITY :
			options->priority,
		.insisted = options->policy != MEASURE_UNSAID || options->priority != MEASURE_UNSAID,
	};
	order->method = &timerlat_method.method;
	order->options = &timerlat;
	order->period_ns = period_ns;
	order->step_ns = 1;
	result->phase = PHASE_FIXED;
	result->method = order->method->name;
	return 0;
}

static void done(void)
{
	tracer_free(&timerlat.tracer);
}

static int prepare(const struct measure_options *options, struct order *order,
		   struct result *result)
{
	/* In the order of --method's words. */
	static const struct method *const methods[] = {
		&wakeup_nanosleep, &wakeup_timerfd, &timerlat_method.method,
	};

	if (options->method == METHOD_TIMERLAT)
		return prepare_timerlat(options, order, result);
	order->method = methods[options->method == MEASURE_UNSAID ? 0 : options->method];
	order->options = &wakeup;
	wakeup.late_missing = options->late == 1;
	order->period_ns = options->period_ns ? options->period_ns : PERIOD_NS;
	if (order->period_ns < PERIOD_MIN_NS || order->period_ns > PERIOD_MAX_NS)
		return error_say("--period: it must be from 10us to 10s, because a wake-up itself takes some us"), -1;
	result->phase = options->phase == 1 ? PHASE_FIXED : PHASE_RANDOM;
	if (options->fed) {
		order->method = &fed_method;
		order->options = options->fed;
		result->phase = PHASE_NONE;
	}
	if (result->phase == PHASE_RANDOM)
		result->seed = options->seed == MEASURE_UNSAID ? new_seed() : options->seed;
	else if (options->seed != MEASURE_UNSAID)
		return error_say("--seed needs --phase random"), -1;
	result->method = order->method->name;
	return 0;
}

const struct measure latency_measure = {
	.name = "latency",
	.what = "timed wake-ups",
	.policy = POLICY_FIFO,
	.prepare = prepare,
	.done = done,
};

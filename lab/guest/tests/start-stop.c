// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: start-stop
 * cpus: 2
 * kernel: isolator
 * timeout: 30
 * about: start, tick and stop answer what the interface says, nested too
 */
#include "../test.h"

static int stop_depth(const struct iso *iso)
{
	struct isolator_stop_args args = { .size = sizeof(args) };

	return ioctl(iso->fd, ISOLATOR_IOC_STOP, &args) ? -errno : (int)args.depth;
}

static int start_again(const struct iso *iso, struct isolator_start_args *args)
{
	args->size = sizeof(*args);
	return ioctl(iso->fd, ISOLATOR_IOC_START, args) ? -errno : 0;
}

int main(void)
{
	struct isolator_start_args again = { .mask = ISOLATOR_MASK_ALL };
	struct isolator_tick_args tick = { 0 };
	const uint32_t wanted = ISOLATOR_GOT_WATCHDOG | ISOLATOR_GOT_TIMEKEEPER |
		ISOLATOR_GOT_TASKS | ISOLATOR_GOT_MM | ISOLATOR_GOT_RCU;
	struct iso iso;
	int error;

	iso_require(2);
	ok(!iso_pin(1), "pinned to CPU 1");
	error = iso_start(&iso, 0, 0);
	if (!ok(!error, "start: %s", strerror(-error)))
		return done_testing();
	ok(iso.start.achieved == ISOLATOR_MASK_ALL, "the whole mask is in force: %#x",
	   iso.start.achieved);
	ok(iso.start.cpu == 1 && iso.start.depth == 1, "CPU %d, depth %u",
	   iso.start.cpu, iso.start.depth);
	/* Not IRQS: an interrupt of an IO-APIC moves only when it next happens. */
	ok((iso.start.got & wanted) == wanted, "got %#x, wanted %#x of it",
	   iso.start.got, wanted);
	ok(iso.start.deadline_ns == SEC && iso.start.spin_ns == 100 * MS &&
	   iso.start.yield_ns, "default deadlines %llu and %llu ns, yield %llu ns",
	   iso.start.deadline_ns, iso.start.spin_ns, iso.start.yield_ns);
	ok(iso.page->magic == ISOLATOR_PAGE_MAGIC &&
	   iso.page->version == ISOLATOR_PAGE_VERSION && iso.page->cpu == 1 &&
	   iso.page->state == ISOLATOR_STATE_ON, "the page says so");
	ok(!iso_tick(&iso, &tick) && iso.page->ticks == 1, "a tick is counted");

	error = start_again(&iso, &again);
	ok(!error && again.depth == 2, "nested start: %s, depth %u", strerror(-error),
	   again.depth);
	again = (struct isolator_start_args){
		.mask = ISOLATOR_MASK_ALL, .deadline_ns = 2 * SEC,
	};
	ok(start_again(&iso, &again) == -EINVAL, "nested start with another deadline: EINVAL");
	ok(stop_depth(&iso) == 1 && iso.page->state == ISOLATOR_STATE_ON,
	   "one stop leaves it isolated");
	ok(stop_depth(&iso) == 0, "the second ends it");
	ok(iso.page->state == ISOLATOR_STATE_ENDED &&
	   iso.page->end == ISOLATOR_END_STOP, "the page outlives the end and names it");
	ok(stop_depth(&iso) == -ESRCH, "a third stop: ESRCH");
	ok(iso_tick(&iso, &tick) == -ESRCH, "a tick after it: ESRCH");

	again = (struct isolator_start_args){ .mask = ISOLATOR_MASK_CLOCK };
	ok(!start_again(&iso, &again) && again.achieved == ISOLATOR_MASK_CLOCK,
	   "start for the clock alone achieves it: %#x", again.achieved);
	again = (struct isolator_start_args){ .mask = ISOLATOR_MASK_IPI };
	ok(!start_again(&iso, &again) &&
	   again.achieved == (ISOLATOR_MASK_CLOCK | ISOLATOR_MASK_IPI),
	   "a nested start adds to the mask: %#x", again.achieved);
	ok(stop_depth(&iso) == 1 && stop_depth(&iso) == 0, "and is undone");
	return done_testing();
}

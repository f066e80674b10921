// SPDX-License-Identifier: LGPL-2.1-or-later
/* Start and stop: what is asked of the kernel, what is given back, nesting. */
#include "check.h"
#include "fake.h"

static void *in_thread(void *run)
{
	((void (*)(void))(uintptr_t)run)();
	return NULL;
}

/* Each test is a thread of its own, as the library's state is. */
#define THREADED(name) \
	static void name##_thread(void); \
	static void name(void) \
	{ \
		pthread_t thread; \
		CHECK_EQUAL(pthread_create(&thread, NULL, in_thread, \
					   (void *)(uintptr_t)name##_thread), 0); \
		CHECK_EQUAL(pthread_join(thread, NULL), 0); \
	} \
	static void name##_thread(void)

THREADED(plain)
{
	CHECK(isolator_page() == NULL);
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_CLOCK | ISOLATOR_MASK_IPI),
		    ISOLATOR_MASK_CLOCK | ISOLATOR_MASK_IPI);
	CHECK_EQUAL(fake.start.mask, ISOLATOR_MASK_CLOCK | ISOLATOR_MASK_IPI);
	CHECK(strcmp(fake.path, "/dev/isolator") == 0);
	CHECK(fake.open_flags & O_CLOEXEC);
	CHECK_EQUAL(fake.map_protection, PROT_READ);
	CHECK_EQUAL(fake.lock_flags, MCL_CURRENT | MCL_FUTURE);
	CHECK(isolator_page() != NULL);
	CHECK_EQUAL(isolator_page()->cpu, 1);
	CHECK_EQUAL(isolator_stop(), 0);
	CHECK_EQUAL(isolator_page()->state, ISOLATOR_STATE_ENDED);
	CHECK_EQUAL(isolator_page()->end, ISOLATOR_END_STOP);
}

THREADED(partial_success_is_told)
{
	fake.cannot_mask = ISOLATOR_MASK_RESCHED;
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_ALL),
		    ISOLATOR_MASK_CLOCK | ISOLATOR_MASK_IPI);
	isolator_stop();
}

THREADED(options_and_result)
{
	struct isolator_options options = ISOLATOR_OPTIONS_INIT;
	struct isolator_result result = ISOLATOR_RESULT_INIT;

	options.deadline_ns = 2000000000;
	options.spin_ns = 5000000;
	options.flags = ISOLATOR_OPT_NO_MLOCK | ISOLATOR_OPT_NO_PREFAULT;
	options.device = "/dev/other";
	CHECK_EQUAL(isolator_start_opts(&options, &result), ISOLATOR_MASK_ALL);
	CHECK_EQUAL(fake.locks, 0);
	CHECK(strcmp(fake.path, "/dev/other") == 0);
	CHECK_EQUAL(fake.start.deadline_ns, 2000000000);
	CHECK_EQUAL(result.deadline_ns, 2000000000);
	CHECK_EQUAL(result.spin_ns, 5000000);
	CHECK_EQUAL(result.yield_ns, 1000000);
	CHECK_EQUAL(result.cpu, 1);
	CHECK_EQUAL(result.depth, 1);
	CHECK_EQUAL(result.size, sizeof(result));
	CHECK_EQUAL(result.got, ISOLATOR_GOT_LOCKED);
	isolator_stop();
}

THREADED(nested)
{
	const struct isolator_page *page;

	CHECK(isolator_start(ISOLATOR_MASK_CLOCK) > 0);
	page = isolator_page();
	CHECK(isolator_start(ISOLATOR_MASK_IPI) > 0);
	CHECK(isolator_page() == page);
	CHECK_EQUAL(fake.maps, 1);
	CHECK_EQUAL(fake.opens, 1);
	CHECK_EQUAL(fake.locks, 1);
	CHECK_EQUAL(isolator_stop(), 1);
	CHECK_EQUAL(isolator_page()->state, ISOLATOR_STATE_ON);
	CHECK_EQUAL(isolator_stop(), 0);
	CHECK_EQUAL(isolator_stop(), -ESRCH);
}

THREADED(new_page_after_an_end)
{
	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	fake_end(ISOLATOR_END_HOTPLUG);
	CHECK_EQUAL(isolator_page()->end, ISOLATOR_END_HOTPLUG);
	CHECK_EQUAL(isolator_stop(), -ECANCELED);
	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	CHECK_EQUAL(isolator_page()->state, ISOLATOR_STATE_ON);
	CHECK_EQUAL(isolator_page()->end, ISOLATOR_END_NONE);
	CHECK_EQUAL(fake.maps, 2);
	CHECK_EQUAL(fake.unmaps, 1);
	isolator_stop();
}

THREADED(no_page_no_isolation)
{
	fake.fail_map = ENOMEM;
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_ALL), -ENOMEM);
	CHECK_EQUAL(fake.stops, 1);
	CHECK(isolator_page() == NULL);
	CHECK_EQUAL(isolator_tick(TICK_ALL), -ESRCH);
}

THREADED(page_of_another_version)
{
	fake.page_version = ISOLATOR_PAGE_VERSION + 1;
	CHECK_EQUAL(isolator_start(ISOLATOR_MASK_ALL), -EPROTO);
	CHECK_EQUAL(fake.stops, 1);
	CHECK_EQUAL(fake.unmaps, 1);
	CHECK(isolator_page() == NULL);
	CHECK(strstr(isolator_strerror(EPROTO), "version") != NULL);
}

THREADED(options_are_checked)
{
	struct isolator_options options = ISOLATOR_OPTIONS_INIT;
	struct {
		struct isolator_options known;
		uint64_t newer;
	} bigger = { ISOLATOR_OPTIONS_INIT, 0 };

	options.size--;
	CHECK_EQUAL(isolator_start_opts(&options, NULL), -EINVAL);
	options.size++;
	options.flags = 1U << 31;
	CHECK_EQUAL(isolator_start_opts(&options, NULL), -EINVAL);
	CHECK_EQUAL(fake.opens, 0);
	bigger.known.size = sizeof(bigger);
	CHECK(isolator_start_opts(&bigger.known, NULL) > 0);
	isolator_stop();
	bigger.newer = 1;
	CHECK_EQUAL(isolator_start_opts(&bigger.known, NULL), -E2BIG);
}

THREADED(result_of_an_older_caller)
{
	struct isolator_options options = ISOLATOR_OPTIONS_INIT;
	struct isolator_result result;

	memset(&result, 0x55, sizeof(result));
	result.size = offsetof(struct isolator_result, cpu);
	CHECK(isolator_start_opts(&options, &result) > 0);
	CHECK_EQUAL(result.achieved, ISOLATOR_MASK_ALL);
	CHECK_EQUAL(result.cpu, 0x55555555);
	isolator_stop();
}

THREADED(stack_that_is_not_there)
{
	struct isolator_options options = ISOLATOR_OPTIONS_INIT;

	options.stack_bytes = 1U << 31;
	CHECK_EQUAL(isolator_start_opts(&options, NULL), -ENOMEM);
	CHECK_EQUAL(fake.starts, 0);
	options.stack_bytes = 1U << 20;
	CHECK(isolator_start_opts(&options, NULL) > 0);
	isolator_stop();
}

/* As much as the whole stack is more than what is left of it, if only by the frames in use. */
THREADED(stack_that_is_almost_there)
{
	struct isolator_options options = ISOLATOR_OPTIONS_INIT;
	pthread_attr_t attributes;
	size_t size = 0;
	void *low;

	CHECK_EQUAL(pthread_getattr_np(pthread_self(), &attributes), 0);
	CHECK_EQUAL(pthread_attr_getstack(&attributes, &low, &size), 0);
	pthread_attr_destroy(&attributes);
	options.stack_bytes = (uint32_t)size;
	CHECK_EQUAL(isolator_start_opts(&options, NULL), -ENOMEM);
	CHECK_EQUAL(fake.starts, 0);
	/* What is used here and below is less than this. */
	options.stack_bytes = (uint32_t)size - 128 * 1024;
	CHECK(isolator_start_opts(&options, NULL) > 0);
	isolator_stop();
}

/*
 * The size of the test's own thread: smaller than what start touches unasked, or where
 * there is none so small the least.
 */
static void small_stack(void)
{
	size_t least = (size_t)PTHREAD_STACK_MIN, size = 40 * 1024;
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	CHECK_EQUAL(pthread_attr_setstacksize(&attributes, size < least ? least : size), 0);
	CHECK_EQUAL(pthread_create(&thread, &attributes, in_thread,
				   (void *)(uintptr_t)plain_thread), 0);
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static void thread_exit_gives_all_back(void)
{
	plain();
	CHECK_EQUAL(fake.closes, 1);
	CHECK_EQUAL(fake.unmaps, 1);
}

THREADED(fork_inherits_nothing)
{
	int status = -1;
	pid_t child;

	CHECK(isolator_start(ISOLATOR_MASK_ALL) > 0);
	/* As in the kernel: the child has no page at the address. */
	madvise((void *)(uintptr_t)isolator_page(), 4096, MADV_DONTFORK);
	child = fork();
	if (child == 0)
		_exit(isolator_page() == NULL && isolator_due() == 0 &&
		      isolator_tick(TICK_ALL) == -ESRCH && isolator_stop() == -ESRCH &&
		      fake.closes == 1 ? 0 : 1);
	CHECK(child > 0);
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK_EQUAL(status, 0);
	CHECK_EQUAL(isolator_page()->state, ISOLATOR_STATE_ON);
	isolator_stop();
}

static const struct test tests[] = {
	{ "start, page, stop", plain },
	{ "partial success is told", partial_success_is_told },
	{ "options reach the kernel, its answer reaches the result", options_and_result },
	{ "nested starts share the page", nested },
	{ "a start after an end maps the new page", new_page_after_an_end },
	{ "no page, no isolation", no_page_no_isolation },
	{ "a page of another version is refused, and isolation undone", page_of_another_version },
	{ "options are checked before anything is touched", options_are_checked },
	{ "a smaller result is not written past its end", result_of_an_older_caller },
	{ "a stack that is not there is an error, not a crash", stack_that_is_not_there },
	{ "a stack that is almost there is one, too", stack_that_is_almost_there },
	{ "a small stack is touched only as far as it goes", small_stack },
	{ "thread exit gives descriptor and page back", thread_exit_gives_all_back },
	{ "fork's child inherits nothing and does not crash", fork_inherits_nothing },
};

int main(void)
{
	return check_run_each(tests, sizeof(tests) / sizeof(tests[0]), fake_reset);
}

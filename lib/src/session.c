// SPDX-License-Identifier: LGPL-2.1-or-later
/* The calling thread's isolation: its descriptor and page, from start to stop. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define DEVICE		"/dev/isolator"
/* The first version's size: a smaller one was never initialised. */
#define OPTIONS_FIRST	sizeof(struct isolator_options)
#define OPT_KNOWN	(ISOLATOR_OPT_NO_MLOCK | ISOLATOR_OPT_NO_PREFAULT | ISOLATOR_OPT_QUARANTINE)

_Static_assert(offsetof(struct isolator_page, due) % 8 == 0 &&
	       offsetof(struct isolator_page, state) ==
	       offsetof(struct isolator_page, due) + 4,
	       "isolator_word() reads due and state as one aligned word");

static const struct isolator_page off_page = { .state = ISOLATOR_STATE_OFF };

EXPORT __thread const struct isolator_page *isolator_thread_page = &off_page;
/* Descriptor + 1, so that 0 is a thread that has none. */
static __thread int thread_fd;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;

int isolator_descriptor(void)
{
	return thread_fd - 1;
}

static void drop_page(void)
{
	if (isolator_thread_page != &off_page)
		isolator_sys.munmap((void *)(uintptr_t)isolator_thread_page, page_size());
	isolator_thread_page = &off_page;
}

static void drop_descriptor(void)
{
	if (thread_fd)
		isolator_sys.close(thread_fd - 1);
	thread_fd = 0;
}

/* At thread exit: the kernel has ended, or will end, the isolation itself. */
static void thread_exits(void *unused)
{
	(void)unused;
	drop_page();
	drop_descriptor();
}

/* In a fork's child: isolation and its page are not inherited, and a look at the
 * parent's page would crash.
 */
static void child_starts(void)
{
	isolator_thread_page = &off_page;
	drop_descriptor();
}

static void register_handlers(void)
{
	pthread_key_create(&exit_key, thread_exits);
	pthread_atfork(NULL, NULL, child_starts);
}

static int open_device(const char *path)
{
	int fd;

	if (thread_fd)
		return 0;
	pthread_once(&once, register_handlers);
	fd = isolator_sys.open(path ? path : DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return isolator_failed(STEP_OPEN, errno);
	thread_fd = fd + 1;
	/* Any value but NULL makes thread_exits() run. */
	pthread_setspecific(exit_key, &off_page);
	return 0;
}

/*
 * The version changes only where a field gets another meaning: what is new stands behind
 * what is known, and is 0 in the page of a kernel that does not have it.
 */
static enum isolator_step page_fits(const struct isolator_page *page)
{
	if (page->magic != ISOLATOR_PAGE_MAGIC)
		return STEP_MAP;
	if (page->version == ISOLATOR_PAGE_VERSION)
		return STEP_NONE;
	return page->version < ISOLATOR_PAGE_VERSION ? STEP_PAGE_OLDER : STEP_PAGE_NEWER;
}

/* The page belongs to one isolation: a start that is not nested needs its own. */
static int map_page(void)
{
	const struct isolator_page *page;
	enum isolator_step step;
	void *address;

	drop_page();
	address = isolator_sys.mmap(NULL, page_size(), PROT_READ, MAP_SHARED,
				    thread_fd - 1, 0);
	if (address == MAP_FAILED)
		return isolator_failed(STEP_MAP, errno);
	page = address;
	step = page_fits(page);
	if (step) {
		isolator_sys.munmap(address, page_size());
		return isolator_failed(step, EPROTO);
	}
	isolator_thread_page = page;
	return 0;
}

/* A bigger structure is that of a newer caller: fine while it asks for nothing new. */
static int check_options(const struct isolator_options *options)
{
	if (options->size < OPTIONS_FIRST)
		return isolator_failed(STEP_OPTIONS, EINVAL);
	if (!options_end(options, sizeof(*options), options->size))
		return isolator_failed(STEP_OPTIONS, E2BIG);
	if (options->flags & ~OPT_KNOWN)
		return isolator_failed(STEP_OPTIONS, EINVAL);
	return 0;
}

/*
 * The errno of a start.  The number of a request has the size of its structure in it: a
 * kernel of another version does not know that of this library's start.  It is told from
 * another device by what it says of a stop without a size, which stops nothing.
 */
static int start_error(int error)
{
	struct isolator_stop_args nothing = { 0 };

	if (error == ENOTTY && isolator_sys.ioctl(thread_fd - 1, ISOLATOR_IOC_STOP, &nothing) < 0 &&
	    errno == EINVAL)
		return EPROTO;
	return error;
}

EXPORT int isolator_start_opts(const struct isolator_options *options,
			       struct isolator_result *result)
{
	struct isolator_start_args arguments = { .size = sizeof(arguments) };
	int error = check_options(options);

	if (error)
		return error;
	arguments.mask = options->mask;
	arguments.deadline_ns = options->deadline_ns;
	arguments.spin_ns = options->spin_ns;
	arguments.yield_ns = options->yield_ns;
	error = open_device(options->device);
	if (error)
		return error;
	/* A nested start finds its memory prepared, and has no flags. */
	if (isolator_thread_page->state != ISOLATOR_STATE_ON) {
		if (options->flags & ISOLATOR_OPT_QUARANTINE)
			arguments.flags = ISOLATOR_START_QUARANTINE;
		error = isolator_prepare(options);
		if (error)
			return error;
	}
	if (isolator_sys.ioctl(thread_fd - 1, ISOLATOR_IOC_START, &arguments) < 0)
		return isolator_failed(STEP_START, start_error(errno));
	if (arguments.depth == 1) {
		error = map_page();
		if (error) {
			struct isolator_stop_args stop = { .size = sizeof(stop) };

			/* Without the page every tick would enter the kernel. */
			isolator_sys.ioctl(thread_fd - 1, ISOLATOR_IOC_STOP, &stop);
			return error;
		}
	}
	if (result)
		isolator_give_result(result, &arguments);
	return (int)arguments.achieved;
}

EXPORT int isolator_start(unsigned int mask)
{
	struct isolator_options options = ISOLATOR_OPTIONS_INIT;

	options.mask = mask;
	return isolator_start_opts(&options, NULL);
}

EXPORT int isolator_stop(void)
{
	struct isolator_stop_args arguments = { .size = sizeof(arguments) };

	if (!thread_fd)
		return isolator_failed(STEP_STOP, ESRCH);
	if (isolator_sys.ioctl(thread_fd - 1, ISOLATOR_IOC_STOP, &arguments) < 0)
		return isolator_failed(STEP_STOP, errno);
	return (int)arguments.depth;
}

EXPORT const struct isolator_page *isolator_page(void)
{
	return isolator_thread_page == &off_page ? NULL : isolator_thread_page;
}

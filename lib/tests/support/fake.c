// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake.h"

struct fake fake;

static unsigned int depth;
static int memory = -1;

/* Returns true once when a failure was ordered. */
static bool ordered(int *failure)
{
	if (!*failure)
		return false;
	errno = *failure;
	*failure = 0;
	return true;
}

static int fake_open(const char *path, int flags)
{
	fake.opens++;
	fake.open_flags = flags;
	snprintf(fake.path, sizeof(fake.path), "%s", path);
	if (ordered(&fake.fail_open))
		return -1;
	return open("/dev/null", flags);
}

static int fake_close(int fd)
{
	fake.closes++;
	return close(fd);
}

/* Each isolation has a page of its own, as in the kernel. */
static void new_page(void)
{
	if (memory >= 0)
		close(memory);
	if (fake.page)
		munmap(fake.page, 4096);
	memory = memfd_create("page", MFD_CLOEXEC);
	if (memory < 0 || ftruncate(memory, 4096) < 0)
		abort();
	fake.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (fake.page == MAP_FAILED)
		abort();
	fake.page->magic = ISOLATOR_PAGE_MAGIC;
	fake.page->version = !fake.page_version ? ISOLATOR_PAGE_VERSION :
		fake.page_version < 0 ? 0 : (unsigned int)fake.page_version;
	fake.page->state = ISOLATOR_STATE_ON;
	fake.page->cpu = 1;
}

static int do_start(struct isolator_start_args *arguments)
{
	fake.starts++;
	if (arguments->size != sizeof(*arguments) || arguments->flags || arguments->reserved) {
		errno = EINVAL;
		return -1;
	}
	if (!arguments->mask || (arguments->mask & ~ISOLATOR_MASK_ALL)) {
		errno = EINVAL;
		return -1;
	}
	if (ordered(&fake.fail_start))
		return -1;
	if (!depth)
		new_page();
	arguments->achieved = arguments->mask & ~fake.cannot_mask;
	arguments->got = ISOLATOR_GOT_LOCKED;
	arguments->cpu = 1;
	arguments->depth = ++depth;
	if (!arguments->deadline_ns)
		arguments->deadline_ns = 1000000000;
	if (!arguments->spin_ns)
		arguments->spin_ns = 100000000;
	if (!arguments->yield_ns)
		arguments->yield_ns = 1000000;
	fake.start = *arguments;
	return 0;
}

/* What tick and stop say when there is nothing to tick or stop. */
static int none(void)
{
	errno = fake.page && fake.page->end != ISOLATOR_END_NONE &&
		fake.page->end != ISOLATOR_END_STOP ? ECANCELED : ESRCH;
	return -1;
}

static int do_tick(struct isolator_tick_args *arguments)
{
	fake.ticks++;
	if (arguments->size != sizeof(*arguments) || (arguments->flags & ~ISOLATOR_TICK_ALL)) {
		errno = EINVAL;
		return -1;
	}
	if (!depth)
		return none();
	if (ordered(&fake.fail_tick))
		return -1;
	arguments->due = fake.page->due;
	arguments->left = fake.page->due & fake.cannot_do;
	arguments->yielded_ns = arguments->yield_ns;
	fake.page->due = arguments->left;
	fake.page->ticks++;
	fake.tick = *arguments;
	return 0;
}

static int do_stop(struct isolator_stop_args *arguments)
{
	fake.stops++;
	if (arguments->size != sizeof(*arguments)) {
		errno = EINVAL;
		return -1;
	}
	if (!depth)
		return none();
	if (ordered(&fake.fail_stop))
		return -1;
	arguments->depth = depth - 1;
	if (depth == 1)
		fake_end(ISOLATOR_END_STOP);
	else
		depth--;
	return 0;
}

/* Another task: only what it is asked and what it answers, no page. */
static int do_start_task(struct isolator_task_args *arguments)
{
	struct isolator_start_args *start = &arguments->start;

	fake.task_starts++;
	fake.task = *arguments;
	if (arguments->size != sizeof(*arguments) || arguments->reserved ||
	    (arguments->flags & ~(ISOLATOR_TASK_EXEC | ISOLATOR_TASK_WAIT)) ||
	    start->size != sizeof(*start) || (start->flags & ~ISOLATOR_START_FLAGS) ||
	    start->reserved || !start->mask || (start->mask & ~ISOLATOR_MASK_ALL)) {
		errno = EINVAL;
		return -1;
	}
	if (ordered(&fake.fail_task_start))
		return -1;
	if (!(arguments->flags & ISOLATOR_TASK_WAIT))
		return 0;
	start->achieved = start->mask & ~fake.cannot_mask;
	start->got = ISOLATOR_GOT_LOCKED;
	start->cpu = 2;
	start->depth = 1;
	if (!start->deadline_ns)
		start->deadline_ns = 1000000000;
	return 0;
}

static int do_stop_task(const struct isolator_task_args *arguments)
{
	fake.task_stops++;
	fake.task = *arguments;
	if (arguments->size != sizeof(*arguments) || arguments->flags || arguments->reserved) {
		errno = EINVAL;
		return -1;
	}
	return ordered(&fake.fail_task_stop) ? -1 : 0;
}

static int fake_ioctl(int fd, unsigned long request, void *argument)
{
	if (fcntl(fd, F_GETFD) < 0)
		return -1;
	if (fake.foreign || (fake.unknown & 1U << _IOC_NR(request))) {
		errno = ENOTTY;
		return -1;
	}
	switch (request) {
	case ISOLATOR_IOC_START:
		return do_start(argument);
	case ISOLATOR_IOC_TICK:
		return do_tick(argument);
	case ISOLATOR_IOC_STOP:
		return do_stop(argument);
	case ISOLATOR_IOC_START_TASK:
		return do_start_task(argument);
	case ISOLATOR_IOC_STOP_TASK:
		return do_stop_task(argument);
	}
	errno = ENOTTY;
	return -1;
}

static void *fake_mmap(void *address, size_t length, int protection, int flags,
		       int fd, off_t offset)
{
	fake.maps++;
	fake.map_protection = protection;
	if (ordered(&fake.fail_map))
		return MAP_FAILED;
	if (fcntl(fd, F_GETFD) < 0 || length != 4096 || offset) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	return mmap(address, length, protection, flags, memory, 0);
}

static int fake_munmap(void *address, size_t length)
{
	fake.unmaps++;
	return munmap(address, length);
}

static int fake_mlockall(int flags)
{
	fake.locks++;
	fake.lock_flags = flags;
	return ordered(&fake.fail_lock) ? -1 : 0;
}

void fake_end(unsigned int why)
{
	depth = 0;
	fake.page->state = ISOLATOR_STATE_ENDED;
	fake.page->end = why;
}

void fake_due(unsigned int bits)
{
	__atomic_or_fetch(&fake.page->due, bits, __ATOMIC_SEQ_CST);
}

void fake_reset(void)
{
	struct isolator_page *page = fake.page;

	while (depth)
		isolator_stop();
	isolator_sys = (struct isolator_sys){
		.open = fake_open,
		.close = fake_close,
		.ioctl = fake_ioctl,
		.mmap = fake_mmap,
		.munmap = fake_munmap,
		.mlockall = fake_mlockall,
	};
	fake = (struct fake){ .page = page };
	if (page)
		page->end = ISOLATOR_END_STOP;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* Pools as a whole: options, what was achieved, failures and their unwinding. */
#include "check.h"
#include "pools.h"

#define QUIET_FLAGS	(ISOLATOR_POOL_NO_MLOCK | ISOLATOR_POOL_NO_HUGE)

static struct isolator_sys real;
/* The n-th call of a kind fails, 0: none; with which errno. */
static int fail_mmap, fail_munmap, fail_mlock, fail_madvise, with;
static int mmaps, munmaps, mlocks, advices;
/* Bytes that are mapped now. */
static long mapped;
static int last_node, moved_node;
/* A container may forbid to lock anything: then it is played, and not looked at. */
static bool may_lock;

static bool ordered(int *count, int order)
{
	if (++*count != order)
		return false;
	errno = with;
	return true;
}

static void *test_mmap(void *address, size_t length, int protection, int flags,
		       int fd, off_t offset)
{
	void *result;

	/* No machine is asked to have huge pages in reserve: see hugetlb(). */
	if (flags & MAP_HUGETLB) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (ordered(&mmaps, fail_mmap))
		return MAP_FAILED;
	result = mmap(address, length, protection, flags, fd, offset);
	if (result != MAP_FAILED && !(flags & MAP_FIXED))
		mapped += (long)length;
	return result;
}

static int test_munmap(void *address, size_t length)
{
	int result;

	if (ordered(&munmaps, fail_munmap))
		return -1;
	result = munmap(address, length);
	if (!result)
		mapped -= (long)length;
	return result;
}

static int test_mlock(const void *address, size_t length)
{
	if (ordered(&mlocks, fail_mlock))
		return -1;
	return may_lock ? mlock(address, length) : 0;
}

static int test_madvise(void *address, size_t length, int advice)
{
	return ordered(&advices, fail_madvise) ? -1 : madvise(address, length, advice);
}

static long test_mbind(void *address, size_t length, int node)
{
	(void)address;
	(void)length;
	last_node = node;
	return 0;
}

static long test_move_pages(unsigned long count, void **pages, int *status)
{
	(void)pages;
	for (unsigned long i = 0; i < count; i++)
		status[i] = moved_node >= 0 && i == count - 1 ? moved_node : last_node;
	return 0;
}

static void before(void)
{
	isolator_pool_use(NULL);
	pools_pin(pools_cpu(0));
	fail_mmap = fail_munmap = fail_mlock = fail_madvise = 0;
	mmaps = munmaps = mlocks = advices = 0;
	mapped = 0;
	moved_node = -1;
	last_node = -1;
	isolator_sys = real;
	isolator_sys.mmap = test_mmap;
	isolator_sys.munmap = test_munmap;
	isolator_sys.mlock = test_mlock;
	isolator_sys.madvise = test_madvise;
	isolator_sys.mbind = test_mbind;
	isolator_sys.move_pages = test_move_pages;
}

static int create(uint64_t bytes, unsigned int flags, int cpu, struct isolator_pool **pool)
{
	struct isolator_pool_options options = ISOLATOR_POOL_OPTIONS_INIT;

	options.bytes = bytes;
	options.flags = flags;
	options.cpu = cpu;
	return isolator_pool_create(&options, pool);
}

static int used_slots(void)
{
	int used = 0;

	for (int i = 0; i < ISOLATOR_POOLS_MAX; i++)
		used += isolator_pools[i].pool != NULL;
	return used;
}

/* @error, a text that names @word, and nothing left behind. */
static void refused(int result, int error, const char *word)
{
	CHECK_EQUAL(result, -error);
	if (!strstr(isolator_strerror(result), word)) {
		printf("# \"%s\" does not name %s\n", isolator_strerror(result), word);
		CHECK(!"text");
	}
	CHECK_EQUAL(used_slots(), 0);
	CHECK_EQUAL(mapped, 0);
}

static void defaults(void)
{
	struct isolator_pool_stats stat;
	struct isolator_pool *pool;
	int got = isolator_pool_create(NULL, &pool);

	CHECK(got >= 0);
	CHECK(got & ISOLATOR_POOL_GOT_LOCKED);
	CHECK(got & ISOLATOR_POOL_GOT_LOCAL);
	stat = pools_stat(pool);
	CHECK_EQUAL(stat.got, got);
	CHECK_EQUAL(stat.cpu, pools_cpu(0));
	CHECK_EQUAL(stat.node, last_node);
	CHECK(stat.bytes >= ISOLATOR_POOL_BYTES_DEFAULT);
	CHECK_EQUAL(stat.largest_bytes, stat.bytes);
	CHECK_EQUAL(!!(got & ISOLATOR_POOL_GOT_THP),
		    stat.huge_bytes >= ISOLATOR_POOL_BYTES_DEFAULT);
	CHECK_EQUAL(stat.used_bytes + stat.peak_bytes + stat.allocs + stat.frees, 0);
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
	refused(isolator_pool_destroy(pool), EINVAL, "not destroyed");
}

static void options_are_checked(void)
{
	struct isolator_pool_options options = ISOLATOR_POOL_OPTIONS_INIT;
	struct {
		struct isolator_pool_options known;
		uint64_t newer;
	} large = { ISOLATOR_POOL_OPTIONS_INIT, 1 };
	struct isolator_pool *pool = NULL;

	refused(isolator_pool_create(NULL, NULL), EINVAL, "ISOLATOR_POOL_OPTIONS_INIT");
	refused(create(1, 0, -1, &pool), ERANGE, "ISOLATOR_POOL_BYTES_MIN");
	refused(create(ISOLATOR_POOL_BYTES_MAX + 1, 0, -1, &pool), ERANGE, "bytes");
	refused(create(0, 1U << 31, -1, &pool), EINVAL, "ISOLATOR_POOL_NO_*");
	refused(create(0, 0, -2, &pool), ENODEV, "online");
	refused(create(0, 0, 8000, &pool), ENODEV, "Cpus_allowed_list");
	refused(create(0, 0, INT32_MAX, &pool), ENODEV, "offline");
	options.size = 8;
	refused(isolator_pool_create(&options, &pool), EINVAL, "options");
	options.size = sizeof(options);
	options.reserved = 1;
	refused(isolator_pool_create(&options, &pool), EINVAL, "options");
	large.known.size = sizeof(large);
	refused(isolator_pool_create(&large.known, &pool), E2BIG, "newer");
	large.newer = 0;
	large.known.flags = QUIET_FLAGS;
	CHECK(isolator_pool_create(&large.known, &pool) >= 0);
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
	CHECK(create(ISOLATOR_POOL_BYTES_MIN, QUIET_FLAGS, -1, &pool) >= 0);
	CHECK(pools_stat(pool).bytes >= ISOLATOR_POOL_BYTES_MIN);
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
	CHECK_EQUAL(mapped, 0);
}

/* Each call that can fail fails in turn: an error, and nothing is left. */
static void failures_unwind(void)
{
	struct isolator_pool *pool = NULL;
	static const struct {
		int *which;
		int calls;
		int error;
		int result;
		const char *names;
	} failures[] = {
		{ &fail_mmap, 2, ENOMEM, ENOMEM, "memory.max" },
		{ &fail_mlock, 1, ENOMEM, EAGAIN, "RLIMIT_MEMLOCK" },
		{ &fail_mlock, 1, EPERM, EPERM, "CAP_IPC_LOCK" },
	};

	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
		for (int call = 1; call <= failures[i].calls; call++) {
			before();
			*failures[i].which = call;
			with = failures[i].error;
			refused(create(0, 0, -1, &pool), failures[i].result, failures[i].names);
		}
	/* Advice: to be huge it may fail, not to be shared with a child it may not. */
	before();
	fail_madvise = 1;
	with = EINVAL;
	CHECK(create(0, 0, -1, &pool) >= 0);
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
	before();
	fail_madvise = 2;
	with = ENOMEM;
	refused(create(0, 0, -1, &pool), ENOMEM, "memory.max");
	/* The advice that populates: old kernels do not know it, and memory may be out. */
	before();
	fail_madvise = 3;
	with = EINVAL;
	CHECK(create(0, 0, -1, &pool) >= 0);
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
	before();
	fail_madvise = 3;
	with = EFAULT;
	refused(create(0, 0, -1, &pool), ENOMEM, "memory.max");
	/* The parts of the mapping that are too much cannot be given back. */
	before();
	fail_munmap = 1;
	with = ENOMEM;
	refused(create(0, 0, -1, &pool), ENOMEM, "max_map_count");
}

/* The memory is elsewhere than asked for: said, not hidden. */
static void not_local(void)
{
	struct isolator_pool *pool = NULL;

	moved_node = 7;
	CHECK(!(create(0, QUIET_FLAGS, -1, &pool) & ISOLATOR_POOL_GOT_LOCAL));
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
}

static void *hugetlb_mmap(void *address, size_t length, int protection, int flags,
			  int fd, off_t offset)
{
	/* Plain pages stand in for those of hugetlbfs. */
	return test_mmap(address, length, protection, flags & ~MAP_HUGETLB, fd, offset);
}

static void hugetlb(void)
{
	struct isolator_pool_stats stat;
	struct isolator_pool *pool = NULL;
	int got;

	isolator_sys.mmap = hugetlb_mmap;
	got = create(0, 0, -1, &pool);
	CHECK(got & ISOLATOR_POOL_GOT_HUGETLB);
	CHECK(got & ISOLATOR_POOL_GOT_LOCKED);
	CHECK_EQUAL(mlocks, 0);
	stat = pools_stat(pool);
	CHECK(stat.huge_bytes > stat.bytes);
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
	CHECK_EQUAL(mapped, 0);
	/* They are there, and cannot be filled: small pages do. */
	before();
	isolator_sys.mmap = hugetlb_mmap;
	fail_madvise = 2;
	with = EFAULT;
	got = create(0, 0, -1, &pool);
	CHECK(got >= 0 && !(got & ISOLATOR_POOL_GOT_HUGETLB));
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
	CHECK_EQUAL(mapped, 0);
	CHECK(create(0, ISOLATOR_POOL_NO_HUGE | ISOLATOR_POOL_NO_MLOCK, -1, &pool) >= 0);
	CHECK_EQUAL(pools_stat(pool).huge_bytes, 0);
	CHECK(!(pools_stat(pool).got & ISOLATOR_POOL_GOT_LOCKED));
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
}

/* The memory is bound to the node where the pool's CPU is, by a policy of its own. */
static void the_real_calls(void)
{
	struct isolator_pool *pool = NULL;
	int got;

	if (!may_lock) {
		printf("# locking memory is not allowed here: not seen\n");
		return;
	}
	isolator_sys = real;
	got = create(0, 0, -1, &pool);
	printf("# got %#x\n", (unsigned int)got);
	CHECK(got >= 0);
	CHECK(got & ISOLATOR_POOL_GOT_LOCKED);
	CHECK_EQUAL(isolator_pool_use(pool), 0);
	CHECK_EQUAL(isolator_free(isolator_alloc(100)), 0);
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
}

/* Locked as /proc tells it, between pages that nobody may touch. */
static void locked_and_guarded(void)
{
	unsigned long long from, to, begin, end, kib = 0;
	struct isolator_pool *pool = NULL;
	bool inside = false;
	char line[512], may[8];
	int guards = 0;
	FILE *file;

	if (!may_lock) {
		printf("# locking memory is not allowed here: not seen\n");
		return;
	}
	CHECK(create(0, ISOLATOR_POOL_NO_HUGE, -1, &pool) >= 0);
	begin = (uintptr_t)pool;
	end = pool->base + pool->bytes;
	file = fopen("/proc/self/smaps", "re");
	CHECK(file != NULL);
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx-%llx %4s", &from, &to, may) == 3) {
			inside = begin >= from && end <= to;
			if ((to == begin || (from >= end && from < end + RUN_BYTES)) &&
			    strcmp(may, "---p") == 0)
				guards++;
		} else if (inside && strncmp(line, "Locked:", 7) == 0) {
			kib = strtoull(line + 7, NULL, 10);
		}
	}
	if (file)
		fclose(file);
	CHECK(kib * 1024 >= pool->bytes);
	CHECK_EQUAL(guards, 2);
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
	CHECK_EQUAL(mapped, 0);
}

/* Made on the CPU that it is for; the affinity is the caller's own afterwards. */
static void for_another_cpu(void)
{
	struct isolator_pool *pool;
	cpu_set_t before_it, after_it;

	sched_getaffinity(0, sizeof(before_it), &before_it);
	CHECK(create(0, QUIET_FLAGS, pools_cpu(1), &pool) >= 0);
	sched_getaffinity(0, sizeof(after_it), &after_it);
	CHECK(CPU_EQUAL(&before_it, &after_it));
	CHECK_EQUAL(pools_stat(pool).cpu, pools_cpu(1));
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
	/* Also when it fails. */
	mmaps = 0;
	fail_mmap = 1;
	with = ENOMEM;
	CHECK_EQUAL(create(0, QUIET_FLAGS, pools_cpu(1), &pool), -ENOMEM);
	sched_getaffinity(0, sizeof(after_it), &after_it);
	CHECK(CPU_EQUAL(&before_it, &after_it));
}

static void as_many_as_there_is_room_for(void)
{
	static struct isolator_pool *pools[ISOLATOR_POOLS_MAX];
	struct isolator_pool *more;
	int failed;

	for (int i = 0; i < ISOLATOR_POOLS_MAX; i++)
		CHECK(create(ISOLATOR_POOL_BYTES_MIN, QUIET_FLAGS, -1, &pools[i]) >= 0);
	failed = create(ISOLATOR_POOL_BYTES_MIN, QUIET_FLAGS, -1, &more);
	CHECK_EQUAL(failed, -EMFILE);
	CHECK(strstr(isolator_strerror(failed), "ISOLATOR_POOLS_MAX") != NULL);
	for (int i = 0; i < ISOLATOR_POOLS_MAX; i++)
		CHECK_EQUAL(isolator_pool_destroy(pools[i]), 0);
	CHECK_EQUAL(mapped, 0);
}

static const struct test tests[] = {
	{ "the defaults", defaults },
	{ "options are checked", options_are_checked },
	{ "every failure unwinds", failures_unwind },
	{ "memory on another node", not_local },
	{ "pages of hugetlbfs", hugetlb },
	{ "the real system calls", the_real_calls },
	{ "locked, and guarded", locked_and_guarded },
	{ "a pool for another CPU", for_another_cpu },
	{ "as many as there is room for", as_many_as_there_is_room_for },
};

/* As much as a pool of the default size takes. */
static bool try_to_lock(void)
{
	size_t bytes = 2 * ISOLATOR_POOL_BYTES_DEFAULT - (1 << 20);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	bool locked = memory != MAP_FAILED && mlock(memory, bytes) == 0;

	if (memory != MAP_FAILED)
		munmap(memory, bytes);
	return locked;
}

int main(void)
{
	real = isolator_sys;
	may_lock = try_to_lock();
	return check_run_each(tests, sizeof(tests) / sizeof(tests[0]), before);
}

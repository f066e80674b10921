// SPDX-License-Identifier: LGPL-2.1-or-later
/* Who uses a pool: one thread at a time, pinned, and no child. */
#include "check.h"
#include "pools.h"

static void before(void)
{
	isolator_pool_use(NULL);
	pools_pin(pools_cpu(0));
}

/* Of the default size, unlocked, in small pages. */
static int create(struct isolator_pool **pool)
{
	struct isolator_pool_options options = ISOLATOR_POOL_OPTIONS_INIT;

	options.flags = ISOLATOR_POOL_NO_MLOCK | ISOLATOR_POOL_NO_HUGE;
	return isolator_pool_create(&options, pool);
}

static void *user_elsewhere(void *pool)
{
	int *error = malloc(sizeof(*error));

	pools_pin(pools_cpu(0));
	*error = isolator_pool_use(pool);
	return error;
}

static int use_in_a_thread(struct isolator_pool *pool)
{
	pthread_t thread;
	void *error;
	int result;

	pthread_create(&thread, NULL, user_elsewhere, pool);
	pthread_join(thread, &error);
	result = *(int *)error;
	free(error);
	return result;
}

static void users(void)
{
	struct isolator_pool_stats stat = ISOLATOR_POOL_STATS_INIT;
	struct isolator_pool *pool, *second;
	cpu_set_t all;
	void *block;

	CHECK(create(&pool) >= 0);
	CHECK(create(&second) >= 0);
	/* A thread uses it and exits: it is nobody's again. */
	CHECK_EQUAL(use_in_a_thread(pool), 0);
	CHECK_EQUAL(isolator_pool_use(pool), 0);
	CHECK_EQUAL(isolator_pool_use(pool), 0);
	CHECK_EQUAL(use_in_a_thread(pool), -EBUSY);
	block = isolator_alloc(100);
	/* Another pool: the first is nobody's, with its block. */
	CHECK_EQUAL(isolator_pool_use(second), 0);
	CHECK_EQUAL(isolator_free(block), -EXDEV);
	CHECK_EQUAL(isolator_pool_use(pool), 0);
	CHECK_EQUAL(isolator_free(block), 0);
	CHECK(pools_wrong(pool) == NULL);
	CHECK_EQUAL(isolator_pool_use(NULL), 0);
	CHECK(isolator_alloc(1) == NULL);
	CHECK_EQUAL(errno, ESRCH);
	CHECK_EQUAL(isolator_pool_use((struct isolator_pool *)&all), -EINVAL);
	/* It died within a call. */
	pool->busy = true;
	CHECK_EQUAL(isolator_pool_use(pool), -ENOTRECOVERABLE);
	CHECK(strstr(isolator_strerror(ENOTRECOVERABLE), "destroy") != NULL);
	pool->busy = false;
	stat.size = 0;
	CHECK_EQUAL(isolator_pool_stat(pool, &stat), -EINVAL);
	CHECK_EQUAL(isolator_pool_stat(pool, NULL), -EINVAL);
	CHECK_EQUAL(isolator_pool_destroy(second), 0);
	if (pools_two_cpus()) {
		sched_getaffinity(0, sizeof(all), &all);
		CPU_SET(pools_cpu(1), &all);
		sched_setaffinity(0, sizeof(all), &all);
		CHECK_EQUAL(isolator_pool_use(pool), -ENOTUNIQ);
		CHECK(strstr(isolator_strerror(ENOTUNIQ), "taskset") != NULL);
		CHECK_EQUAL(create(&second), -ENOTUNIQ);
		pools_pin(pools_cpu(1));
		CHECK_EQUAL(isolator_pool_use(pool), -EXDEV);
		CHECK(strstr(isolator_strerror(EXDEV), "another CPU") != NULL);
	}
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
}

/* What a program asks that knows a shorter structure. */
static void an_older_callers_statistics(void)
{
	struct isolator_pool_stats stat = ISOLATOR_POOL_STATS_INIT;
	struct isolator_pool *pool = pools_take(0);

	stat.size = offsetof(struct isolator_pool_stats, huge_bytes);
	stat.huge_bytes = 12345;
	CHECK_EQUAL(isolator_pool_stat(pool, &stat), 0);
	CHECK_EQUAL(stat.size, offsetof(struct isolator_pool_stats, huge_bytes));
	CHECK_EQUAL(stat.bytes, pool->bytes);
	CHECK_EQUAL(stat.huge_bytes, 12345);
	CHECK_EQUAL(isolator_pool_destroy(pool), 0);
}

static int looks_from_elsewhere;

static void *look(void *pool)
{
	struct isolator_pool_stats stat = ISOLATOR_POOL_STATS_INIT;

	looks_from_elsewhere = isolator_pool_stat(pool, &stat) == -EBUSY &&
			       isolator_pool_destroy(pool) == -EBUSY;
	return NULL;
}

static void only_its_user_looks(void)
{
	struct isolator_pool *pool = pools_take(0);
	pthread_t thread;

	pthread_create(&thread, NULL, look, pool);
	pthread_join(thread, NULL);
	CHECK(looks_from_elsewhere);
	CHECK(isolator_alloc(1) != NULL);
	/* What was not freed is told. */
	CHECK_EQUAL(isolator_pool_destroy(pool), 1);
	CHECK(isolator_alloc(1) == NULL);
}

/*
 * A child has no pool, and its birth makes none of the parent's pages to be
 * copied: the parent's writes to its pool cause no fault.
 */
static void a_child_has_none(void)
{
	struct isolator_pool *pool = pools_take(0);
	struct rusage first, last;
	int status = -1, hold[2];
	char *block = isolator_alloc(100000);
	pid_t child;

	CHECK_EQUAL(pipe(hold), 0);
	child = fork();
	if (child == 0) {
		int error = isolator_pool_destroy(pool) == -EINVAL &&
			    isolator_free(block) == -EFAULT && !isolator_alloc(1) ? 0 : 1;
		struct isolator_pool *own = pools_take(0);

		error |= !isolator_alloc(1);
		error |= isolator_pool_destroy(own) != 1;
		close(hold[1]);
		/* Until the parent has written. */
		error |= read(hold[0], &status, 1) != 0;
		_exit(error);
	}
	getrusage(RUSAGE_THREAD, &first);
	for (int i = 0; i < 100000; i += 4096)
		block[i] = 1;
	getrusage(RUSAGE_THREAD, &last);
	close(hold[1]);
	close(hold[0]);
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK_EQUAL(status, 0);
	/* Two at most: the stack and the variables of the test itself. */
	CHECK(last.ru_minflt - first.ru_minflt <= 2);
	CHECK_EQUAL(isolator_pool_destroy(pool), 1);
}

static const struct test tests[] = {
	{ "users, one at a time", users },
	{ "an older caller's statistics", an_older_callers_statistics },
	{ "only its user looks", only_its_user_looks },
	{ "a child has none", a_child_has_none },
};

int main(void)
{
	return check_run_each(tests, sizeof(tests) / sizeof(tests[0]), before);
}

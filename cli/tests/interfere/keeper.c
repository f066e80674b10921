// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process that a load is, linked with --wrap for what it asks the kernel: whom it
 * signals, and whose number is another's by then.
 */
#include <semaphore.h>

#include "check.h"
#include "interfere/keeper.h"

#define WORKERS 2

/* What the processes of the load have written down. */
static struct notes {
	sem_t there;			/* for each worker that has written itself down */
	pid_t workers[WORKERS], left;	/* left: by the first, in its group; 0: not there yet */
	pid_t reaped[WORKERS];
	unsigned int told[WORKERS];	/* its group, so often, while its number was its own */
	unsigned int strayed;		/* signals to groups of numbers that had been reaped */
} *notes;

int __wrap_kill(pid_t pid, int signal);
int __real_kill(pid_t pid, int signal);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
pid_t __real_waitpid(pid_t pid, int *status, int options);

int __wrap_kill(pid_t pid, int signal)
{
	for (int i = 0; i < WORKERS; i++) {
		notes->strayed += pid == -notes->reaped[i] && pid;
		notes->told[i] += pid == -notes->workers[i] && !notes->reaped[i];
	}
	return __real_kill(pid, signal);
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	pid_t ended = __real_waitpid(pid, status, options);

	for (int i = 0; i < WORKERS; i++)
		if (ended > 0 && ended == notes->workers[i])
			notes->reaped[i] = ended;
	return ended;
}

static void wait_forever(struct work *work) __attribute__((noreturn));

static void wait_forever(struct work *work)
{
	size_t index = (size_t)(work->slot - work->shared->slots);

	/* Not a child of the keeper's until the worker ends, but in the group that it signals. */
	if (!index) {
		pid_t left = fork();

		if (!left)
			for (;;)
				pause();
		notes->left = left;
	}
	notes->workers[index] = getpid();
	sem_post(&notes->there);
	for (;;)
		pause();
}

static void *shared(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Its parent ends it without a word. */
static pid_t keep(struct work *work)
{
	pid_t parent = getpid(), keeper;

	for (size_t i = 0; i < WORKERS; i++)
		work->shared->slots[i].cpu = sched_getcpu();
	work->shared->count = WORKERS;
	keeper = fork();
	if (!keeper)
		keeper_run(work, parent);
	__real_kill(keeper, KEEPER_START);
	for (size_t i = 0; i < WORKERS; i++)
		while (sem_wait(&notes->there) && errno == EINTR)
			;
	return keeper;
}

static void killed_worker(void)
{
	static const struct work_type type = { .run = wait_forever };
	struct work work = { .type = &type, .shared = shared(1 << 16) };
	sigset_t keepers, before;
	pid_t keeper;
	int status;

	/* Until it waits for them itself. */
	sigemptyset(&keepers);
	sigaddset(&keepers, KEEPER_START);
	sigaddset(&keepers, KEEPER_STOP);
	sigprocmask(SIG_BLOCK, &keepers, &before);
	keeper = keep(&work);
	sigprocmask(SIG_SETMASK, &before, NULL);
	__real_kill(notes->workers[0], SIGKILL);
	CHECK(__real_waitpid(keeper, &status, 0) == keeper);
	CHECK(work.shared->said && strstr(work.shared->failure, "was killed"));
	CHECK(notes->reaped[0] && notes->reaped[1]);
	CHECK(!notes->strayed && notes->told[0] == 1 && notes->told[1] >= 1);
	/* What the worker had left was told in time: it was not waited for. */
	CHECK(__real_kill(notes->left, 0) < 0 && errno == ESRCH);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a worker that is killed", killed_worker },
	};

	notes = shared(sizeof(*notes));
	sem_init(&notes->there, 1, 0);
	return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}

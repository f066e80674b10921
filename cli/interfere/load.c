// SPDX-License-Identifier: GPL-2.0-or-later
/* The side of a load that whoever opened it sees. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "base/wait.h"
#include "interfere/keeper.h"
#include "interfere/load.h"
#include "interfere/work.h"
#include "machine/affinity.h"

#define START_NS (120 * WAIT_SECOND)	/* memory and files of the slowest machine */
#define NAP_NS 2000000

struct load {
	struct work work;
	size_t size;		/* of work.shared */
	pid_t keeper;		/* 0: it has ended */
	bool stopped;		/* as it should */
};

static const struct work_type *const types[] = {
	&work_cache, &work_ipi, &work_stress,
};

const struct load_type *const load_types[] = {
	&work_cache.type, &work_ipi.type, &work_stress.type, NULL,
};

/* @name is that, or begins with it and ":". */
static const char *variant_of(const char *name, const struct load_type *type)
{
	size_t length = strlen(type->name);

	if (strncmp(name, type->name, length) || (name[length] && name[length] != ':'))
		return NULL;
	return name[length] ? name + length + 1 : name + length;
}

static bool is_variant(const struct work_type *type, const char *variant)
{
	const char *variants = type->type.variants ? type->type.variants : "";
	size_t length = strlen(variant);

	if (!*variant || type->judges)
		return true;
	for (const char *at = variants; *at; at += *at == '|') {
		size_t one = strcspn(at, "|");

		if (one == length && !strncmp(at, variant, one))
			return true;
		at += one;
	}
	return false;
}

static const struct work_type *find(const char *name, const char **variant)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const struct load_type *type = &types[i]->type;

		*variant = variant_of(name, type);
		if (!*variant)
			continue;
		if (is_variant(types[i], *variant))
			return types[i];
		error_say("unknown load \"%s\": %s%s%s", name, type->name,
			  type->variants ? " may be followed by :" : " stands alone",
			  type->variants ? type->variants : "");
		return NULL;
	}
	error_say("unknown load \"%s\"; isolator interfere --list shows all", name);
	return NULL;
}

const struct load_type *load_find(const char *name)
{
	const char *variant;
	const struct work_type *type = find(name, &variant);

	return type ? &type->type : NULL;
}

char *load_missing(const char *name)
{
	const char *variant;
	const struct work_type *type = find(name, &variant);

	return type && type->missing ? type->missing(variant) : NULL;
}

static bool check_cpus(const struct load_order *order)
{
	if (cpulist_empty(&order->cpus)) {
		error_say("a load needs a CPU to run on");
		return false;
	}
	return !affinity_check("cpu", &order->cpus) &&
		(!order->targets.given || !affinity_check("to", &order->targets));
}

static struct work_shared *share(const struct cpulist *cpus, size_t *size)
{
	struct work_shared *shared;

	*size = sizeof(*shared) + cpulist_count(cpus) * sizeof(shared->slots[0]);
	shared = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		error_say(ERROR_NO_MEMORY);
		return NULL;
	}
	for (int cpu = -1; (cpu = cpulist_next(cpus, cpu)) >= 0;)
		shared->slots[shared->count++].cpu = cpu;
	return shared;
}

/* The keeper begins with all signals blocked: it takes up what it waits for itself. */
static pid_t begin(struct work *work)
{
	pid_t parent = getpid(), child;
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	fflush(NULL);
	child = fork();
	if (!child)
		keeper_run(work, parent);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		error_say("no process for a load: %s: end some, or raise the limit (ulimit -u)",
			  strerror(errno));
	return child;
}

struct load *load_open(const char *name, const struct load_order *order)
{
	const char *variant;
	const struct work_type *type = find(name, &variant);
	struct load *load;

	if (!type || !check_cpus(order))
		return NULL;
	load = calloc(1, sizeof(*load));
	if (!load) {
		error_say(ERROR_NO_MEMORY);
		return NULL;
	}
	load->work.type = type;
	load->work.order = *order;
	load->work.variant = text_format("%s", variant);
	load->work.shared = share(&order->cpus, &load->size);
	if (load->work.shared && !type->settle(&load->work)) {
		load->keeper = begin(&load->work);
		if (load->keeper > 0)
			return load;
		load->keeper = 0;
	}
	load_close(load);
	return NULL;
}

/* Has the keeper ended? */
static bool ended(struct load *load)
{
	if (load->keeper && waitpid(load->keeper, NULL, WNOHANG) == load->keeper)
		load->keeper = 0;
	return !load->keeper;
}

int load_start(struct load *load)
{
	const struct work *work = &load->work;
	size_t wanted = work->type->whole ? 1 : work->shared->count;
	uint64_t limit = wait_clock_ns() + START_NS;
	const char *why = NULL;

	if (!ended(load))
		kill(load->keeper, KEEPER_START);
	while (!why && __atomic_load_n(&work->shared->ready, __ATOMIC_ACQUIRE) < wanted) {
		if (ended(load))
			why = load_failure(load);
		else if (wait_clock_ns() >= limit)
			why = "it does not begin";
		else if (!wait_until(wait_clock_ns() + NAP_NS))
			why = "a signal ended it before it began";
	}
	if (!why)
		return 0;
	error_say("%s: %s", work->type->type.name, why);
	load_stop(load);
	return -1;
}

bool load_running(struct load *load)
{
	return !ended(load);
}

const char *load_failure(const struct load *load)
{
	const struct work_shared *shared = load->work.shared;

	if (__atomic_load_n(&shared->said, __ATOMIC_ACQUIRE))
		return shared->failure;
	return load->keeper || load->stopped ? NULL : "its keeper was killed";
}

void load_stop(struct load *load)
{
	if (!load->keeper)
		return;
	kill(load->keeper, KEEPER_STOP);
	while (waitpid(load->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	load->keeper = 0;
	load->stopped = true;
}

void load_close(struct load *load)
{
	if (!load)
		return;
	load_stop(load);
	if (load->work.shared)
		munmap(load->work.shared, load->size);
	free(load->work.variant);
	free(load->work.words);
	free(load);
}

const char *load_words(const struct load *load)
{
	return load->work.words;
}

size_t load_cpus(const struct load *load)
{
	return load->work.shared->count;
}

struct load_count load_count(const struct load *load, size_t index)
{
	const struct work_slot *slot = &load->work.shared->slots[index];

	return (struct load_count){
		.cpu = slot->cpu,
		.bytes = slot->bytes,
		.operations = __atomic_load_n(&slot->operations, __ATOMIC_RELAXED),
	};
}

const struct cpulist *load_targets(const struct load *load)
{
	return &load->work.targets;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "machine/affinity.h"
#include "sampling/sampler.h"
#include "sampling/seat.h"

#define AHEAD_NS UINT64_C(20000000)	/* from the start of the threads to the first trigger */
#define TRY_AGAIN_NS UINT64_C(100000000)

static size_t nr_series(const struct method *method)
{
	size_t count = 0;

	while (count < METHOD_SERIES && method->series[count])
		count++;
	return count;
}

/* Away from the CPUs that are measured, if there are others. */
static void leave(struct sampler *sampler)
{
	struct asked_list *settings = &sampler->result->settings;
	struct cpulist others;
	char *where;
	int error;

	if (affinity_get(&sampler->before))
		return;
	others = sampler->before;
	cpulist_minus(&others, &sampler->order->cpus);
	error = cpulist_empty(&others) ? EINVAL : affinity_set(0, &others);
	where = cpulist_text(error ? &sampler->before : &others);
	if (error)
		asked_add(settings, "observer", "other CPUs", where, false, false,
			  "the thread that writes the result runs on a measured CPU once a second: leave one CPU out with -c");
	else
		asked_add(settings, "observer", "other CPUs", where, true, false, NULL);
	free(where);
}

/* Room for the series of all CPUs, all of it touched. */
static bool make_room(struct sampler *sampler)
{
	size_t each = series_size(sampler->order->digits) * nr_series(sampler->order->method);
	void *memory;

	sampler->count = cpulist_count(&sampler->order->cpus);
	sampler->size = sampler->count * each;
	memory = mmap(NULL, sampler->size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	sampler->seats = calloc(sampler->count, sizeof(*sampler->seats));
	if (memory == MAP_FAILED || !sampler->seats) {
		if (memory != MAP_FAILED)
			munmap(memory, sampler->size);
		error_say("no memory for the histograms of %zu CPUs: fewer CPUs (-c) or --digits take less",
			  sampler->count);
		return false;
	}
	sampler->memory = memory;
	return true;
}

int sampler_open(struct sampler *sampler, const struct order *order, struct result *result)
{
	*sampler = (struct sampler){ .order = order, .result = result, .dma.file = -1,
				     .event = -1 };
	result->timebase = &sampler->timebase;
	if (order->method->beside)
		timebase_open_tracer(&sampler->timebase, order->step_ns);
	else if (order->method->monotonic)
		timebase_open_monotonic(&sampler->timebase, order->method->monotonic);
	else
		timebase_open(&sampler->timebase, order->root);
	if (result->skipped)
		return 1;
	if (order->dma_us >= 0 && !dma_open(&sampler->dma, order->root,
					    (unsigned int)order->dma_us, &result->settings))
		return 1;
	sampler->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (sampler->event < 0) {
		error_say("no event file: %s", strerror(errno));
		return -1;
	}
	seat_prepare();
	leave(sampler);
	if (!make_room(sampler))
		return -1;
	if (order->method->arm) {
		int error = order->method->arm(order->options, &order->cpus, order->root, result);

		if (error)
			return error;
		sampler->armed = true;
	}
	return 0;
}

/* The seats of one part, their series empty. */
static void furnish(struct sampler *sampler)
{
	const struct order *order = sampler->order;
	size_t size = series_size(order->digits), index = 0;
	char *at = sampler->memory;

	for (int cpu = -1; (cpu = cpulist_next(&order->cpus, cpu)) >= 0; index++) {
		struct seat *seat = &sampler->seats[index];

		memset(seat, 0, sizeof(*seat));
		seat->policy = order->policy;
		seat->event = sampler->event;
		seat->worker = (struct worker){
			.method = order->method,
			.options = order->options,
			.timebase = &sampler->timebase,
			.cpu = cpu,
			.period_ns = order->period_ns,
			.phase = sampler->result->phase,
			.seed = sampler->result->seed + ((uint64_t)cpu << 32),
			.samples = order->samples,
		};
		for (size_t i = 0; i < nr_series(order->method); i++, at += size) {
			seat->worker.series[i] = series_init(at, order->method->series[i], cpu,
							     order->digits);
			seat->worker.series[i]->threshold_ns = order->threshold_ns;
			seat->worker.series[i]->ring = &seat->ring;
		}
	}
}

/* Where the copies of all series go; they remain when the sampler is closed. */
static struct part *add_part(struct sampler *sampler, const char *load)
{
	struct result *result = sampler->result;
	struct part *part = &result->parts[result->nr_parts];
	size_t each = nr_series(sampler->order->method), size = series_size(sampler->order->digits);

	*part = (struct part){ .loaded = load, .load = load, .began = moment_now() };
	part->series = calloc(sampler->count * each, sizeof(*part->series));
	for (size_t i = 0; part->series && i < sampler->count * each; i++) {
		const struct series *from = sampler->seats[i / each].worker.series[i % each];
		void *memory = malloc(size);

		if (!memory)
			error_no_memory();
		part->series[i] = series_init(memory, from->name, from->cpu,
					      sampler->order->digits);
		part->count++;
	}
	if (!part->series)
		error_no_memory();
	result->nr_parts++;
	return part;
}

/* All that this process has now: code, stacks, and what is measured into. */
static void lock_memory(struct sampler *sampler)
{
	struct asked_list *settings = &sampler->result->settings;
	int error = mlockall(MCL_CURRENT) ? errno : 0;
	char line[128] = "", *status, *locked;
	size_t size;

	if (error && !mlock(sampler->memory, sampler->size))
		error = -1;
	status = file_read("/proc/self/status", &size);
	locked = status ? strstr(status, "\nVmLck:") : NULL;
	if (locked)
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(locked + 7, "\n"), locked + 7);
	free(status);
	locked = text_trim(line);
	if (!error)
		asked_add(settings, "memory", "locked", *locked ? locked : NULL,
			  *locked && strcmp(locked, "0 kB"), false, NULL);
	else
		asked_add(settings, "memory", "locked", *locked ? locked : NULL, false, false,
			  "%s: reclaim may interrupt the threads: %s, or raise ulimit -l",
			  error < 0 ? "only the memory for results is locked" : strerror(error),
			  error_unless_root("give it CAP_IPC_LOCK"));
	free(locked);
}

/* "fifo", or where threads differ "0: fifo, 1: other". */
static char *each_seat(const struct sampler *sampler, char *(*tell)(const struct seat *seat))
{
	char *first = tell(&sampler->seats[0]), *text;
	bool same = true;
	size_t size;
	FILE *out;

	for (size_t i = 1; i < sampler->count; i++) {
		char *other = tell(&sampler->seats[i]);

		same = same && !strcmp(first, other);
		free(other);
	}
	if (same)
		return first;
	free(first);
	out = text_open(&text, &size);
	for (size_t i = 0; i < sampler->count; i++) {
		char *one = tell(&sampler->seats[i]);

		fprintf(out, "%s%d: %s", i ? ", " : "", sampler->seats[i].worker.cpu, one);
		free(one);
	}
	fclose(out);
	return text;
}

static char *tell_policy(const struct seat *seat)
{
	if (seat->got.kind > POLICY_RR)
		return text_format("%s", policy_names[seat->got.kind]);
	return text_format("%s %u", policy_names[seat->got.kind], seat->got.priority);
}

static char *tell_bound(const struct seat *seat)
{
	return text_format("%s", seat->bound ? "own CPU" : "others too");
}

static char *tell_slack(const struct seat *seat)
{
	return text_format("%ld ns", seat->slack_ns);
}

/* What all threads read back of themselves. */
static void tell_settings(struct sampler *sampler)
{
	struct asked_list *settings = &sampler->result->settings;
	const struct seat wanted = { .got = sampler->order->policy };
	char *asked = tell_policy(&wanted), *got = each_seat(sampler, tell_policy);
	bool held = !strcmp(asked, got);

	if (sampler->order->method->beside) {
		free(asked);
		free(got);
		return;
	}
	asked_add(settings, "policy", asked, got, held, sampler->order->policy.insisted,
		  held ? NULL : "this user may not have this priority, so other tasks delay the thread, too; %s, or run it with ulimit -r %u, to measure the kernel alone",
		  error_unless_root("give it CAP_SYS_NICE"),
		  sampler->order->policy.priority);
	free(asked);
	free(got);
	got = each_seat(sampler, tell_bound);
	asked_add(settings, "affinity", "own CPU", got, !strcmp(got, "own CPU"), true, NULL);
	free(got);
	got = each_seat(sampler, tell_slack);
	/* Threads of real-time policies have none on newer kernels. */
	held = !strcmp(got, "1 ns") || !strcmp(got, "0 ns");
	asked_add(settings, "timer_slack", "1 ns", got, held, false,
		  held ? NULL : "the kernel may delay timers by this time, to save power");
	free(got);
}

/* It may have ended before it began. */
static double since(const struct moment *began, uint64_t now_ns)
{
	return now_ns > began->monotonic_ns ?
		(double)(now_ns - began->monotonic_ns) / WAIT_SECOND : 0;
}

/* The state of now into the result; false: a series could not be copied. */
static bool look(struct sampler *sampler, struct part *part, uint64_t now_ns)
{
	size_t each = nr_series(sampler->order->method);
	struct series *copy = malloc(series_size(sampler->order->digits));
	bool all = true;

	if (!copy)
		error_no_memory();
	for (size_t i = 0; i < part->count; i++) {
		struct series *old = part->series[i];

		series_init(copy, old->name, old->cpu, sampler->order->digits);
		if (!series_copy(copy, sampler->seats[i / each].worker.series[i % each])) {
			all = false;
			continue;
		}
		part->series[i] = copy;
		copy = old;
	}
	free(copy);
	part->seconds = since(&part->began, now_ns);
	sampler->result->seconds = since(&sampler->result->began, now_ns);
	result_judge(sampler->result);
	return all;
}

/* False: it cannot be written, said why. */
static bool publish(const struct sampler *sampler)
{
	int error = sampler->order->output ?
		result_save(sampler->order->output, sampler->result, result_json) : 0;

	if (error)
		error_say("%s cannot be written: %s", sampler->order->output, strerror(error));
	else if (sampler->order->show)
		sampler->order->show(sampler->result);
	return !error;
}

static bool all_done(const struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->count; i++)
		if (seat_state(&sampler->seats[i]) != SEAT_DONE)
			return false;
	return true;
}

/* Until all have ended or a signal comes; false: what is found cannot be written. */
static bool attend(struct sampler *sampler, struct part *part)
{
	uint64_t next_ns = part->began.monotonic_ns + WAIT_SECOND, count;

	while (!all_done(sampler)) {
		uint64_t now_ns;
		bool whole;

		switch (wait_input(sampler->event, next_ns)) {
		case WAIT_OVER:
			sampler->result->early = true;
			return true;
		case WAIT_INPUT:
			if (read(sampler->event, &count, sizeof(count)) < 0 && errno != EAGAIN)
				return true;
			continue;
		case WAIT_SIGNAL:
			continue;
		case WAIT_TIME:
			break;
		}
		now_ns = wait_clock_ns();
		whole = look(sampler, part, now_ns);
		if (!publish(sampler))
			return false;
		now_ns = wait_clock_ns();
		next_ns += whole ? WAIT_SECOND : TRY_AGAIN_NS;
		if (next_ns < now_ns)
			next_ns = now_ns + TRY_AGAIN_NS;
	}
	return true;
}

static void begin(struct sampler *sampler, struct part *part)
{
	const struct order *order = sampler->order;

	lock_memory(sampler);
	tell_settings(sampler);
	part->began = moment_now();
	part->began.real_ns += AHEAD_NS;
	part->began.monotonic_ns += AHEAD_NS;
	if (sampler->result->nr_parts == 1)
		sampler->result->began = part->began;
	for (size_t i = 0; i < sampler->count; i++) {
		struct worker *worker = &sampler->seats[i].worker;

		worker->begin_ns = part->began.monotonic_ns;
		worker->end_ns = order->duration_ns ? worker->begin_ns + order->duration_ns :
			UINT64_MAX;
		for (size_t k = 0; k < METHOD_SERIES && worker->series[k]; k++)
			series_start(worker->series[k], worker->begin_ns);
		seat_go(&sampler->seats[i]);
	}
}

int sampler_run(struct sampler *sampler, const char *load)
{
	struct part *part;
	uint64_t ended_ns;
	bool good = true, begun;

	furnish(sampler);
	part = add_part(sampler, load);
	for (size_t i = 0; good && i < sampler->count; i++)
		good = seat_start(&sampler->seats[i]);
	good = good && seat_await(sampler->seats, sampler->count);
	begun = good;
	if (good) {
		if (sampler->watch)
			sampler->watch->ready(sampler);
		begin(sampler, part);
		good = attend(sampler, part);
	}
	/* What a thread that does not end still uses cannot be given back; the machine's can. */
	if (!seat_end(sampler->seats, sampler->count)) {
		if (sampler->armed)
			sampler->order->method->disarm(sampler->result, sampler->order->options);
		exit(EXIT_ERROR);
	}
	/* What is looked into afterwards is no time of the run. */
	ended_ns = wait_clock_ns();
	if (begun && sampler->watch)
		sampler->watch->ended(sampler);
	munlockall();
	if (!good)
		return -1;
	look(sampler, part, ended_ns);
	if (sampler->dma.file >= 0)
		dma_check(&sampler->dma, &sampler->result->settings);
	return 0;
}

struct outlier_ring *sampler_ring(struct sampler *sampler, size_t index)
{
	return &sampler->seats[index].ring;
}

bool sampler_close(struct sampler *sampler)
{
	bool good = !sampler->armed || sampler->order->method->disarm(sampler->result,
								   sampler->order->options);

	dma_close(&sampler->dma);
	if (sampler->before.given)
		affinity_set(0, &sampler->before);
	if (sampler->event >= 0)
		close(sampler->event);
	if (sampler->memory)
		munmap(sampler->memory, sampler->size);
	free(sampler->seats);
	return good;
}

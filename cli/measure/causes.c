// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attribute/attribute.h"
#include "base/array.h"
#include "base/error.h"
#include "base/term.h"
#include "journal/journal.h"
#include "journal/undo.h"
#include "machine/instance.h"
#include "measure/causes.h"

#define SHOWN 5			/* of these, for people */
#define NAP_MS 20
#define HOLD_MS 1000		/* if the looking thread has to wait for a CPU */
#define MS 1000000

/* There is one run in a process. */
static struct {
	struct sampler *sampler;
	struct attribute *attribute;	/* NULL: none; by one thread at a time */
	pthread_mutex_t lock;
	pthread_t thread;
	bool running, stop;
	const char *root;		/* where the journal is */
	struct journal journal;
	bool noted;
	bool known;			/* the overhead */
	struct attribute_overhead overhead;
} causes = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* All that is in the rings now. */
static void empty_rings(void)
{
	struct sampler *sampler = causes.sampler;

	for (size_t i = 0; i < sampler->count; i++) {
		struct outlier_ring *ring = sampler_ring(sampler, i);
		struct finding finding;
		struct outlier outlier;

		while (outlier_take(ring, &outlier)) {
			pthread_mutex_lock(&causes.lock);
			attribute_look(causes.attribute, &outlier, &finding);
			pthread_mutex_unlock(&causes.lock);
		}
	}
}

static void *look(void *unused)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * MS };

	while (!__atomic_load_n(&causes.stop, __ATOMIC_ACQUIRE)) {
		empty_rings();
		nanosleep(&nap, NULL);
	}
	return unused;
}

static void ready(struct sampler *sampler)
{
	causes.sampler = sampler;
	causes.stop = false;
	causes.running = !pthread_create(&causes.thread, NULL, look, NULL);
}

/* No thread measures any more. */
static void ended(struct sampler *sampler)
{
	if (causes.running) {
		__atomic_store_n(&causes.stop, true, __ATOMIC_RELEASE);
		pthread_join(causes.thread, NULL);
		empty_rings();
	}
	causes.running = false;
	for (size_t i = 0; i < sampler->count; i++) {
		struct outlier_ring *ring = sampler_ring(sampler, i);

		attribute_pass(causes.attribute, outlier_lost(ring) + (ring->put - ring->taken));
	}
}

static void put_json(struct json *json, const struct result *result)
{
	(void)result;
	pthread_mutex_lock(&causes.lock);
	attribute_json(json, "attribution", causes.attribute,
		       causes.known ? &causes.overhead : NULL);
	pthread_mutex_unlock(&causes.lock);
}

static int place(int cpu, uint64_t trigger)
{
	int found;

	pthread_mutex_lock(&causes.lock);
	found = attribute_place(causes.attribute, cpu, trigger);
	pthread_mutex_unlock(&causes.lock);
	return found;
}

/* What the trace will make, for isolator restore if this process is killed; false, said why. */
static bool note_instances(const char *root)
{
	const struct cpulist none = { .given = true };
	const struct journal_owner owner = { .pid = getpid(), .cpus = &none,
					     .program = "isolator measure" };
	char *paths[] = { instance_causes(getpid()), instance_senders(getpid()) };
	bool good = undo_runs(root) && !journal_open(&causes.journal, root, &owner);

	causes.root = root;
	causes.noted = good;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		good = good && !journal_note(&causes.journal, JOURNAL_INSTANCE, paths[i], "-", "-");
		free(paths[i]);
	}
	if (causes.noted)
		journal_settle(&causes.journal);
	return good;
}

void causes_open(struct sampler *sampler, struct result *result, uint64_t threshold_ns,
		 size_t worst)
{
	static const struct sampler_watch watch = { ready, ended };
	const struct attribute_options options = {
		.cpus = &sampler->order->cpus, .threshold_ns = threshold_ns, .most = worst,
		.hold_ms = HOLD_MS,
	};
	char *why = NULL;

	/* Who may note nothing may not trace either, and is told so by that. */
	if (geteuid() || note_instances(sampler->order->root))
		causes.attribute = attribute_open(&options, &why);
	if (causes.attribute) {
		asked_add(&result->settings, "causes", "the kernel's trace", "the kernel's trace",
			  true, false, NULL);
		sampler->watch = &watch;
		result->attribution = put_json;
		result->place = place;
	} else {
		asked_add(&result->settings, "causes", "the kernel's trace", "none", false, false,
			  "%s", why ? why : "it is not available");
	}
	free(why);
}

bool causes_end(struct sampler *sampler)
{
	sampler->watch = NULL;
	attribute_end(causes.attribute);
	return causes.attribute;
}

/* Adds the series of this name of @part. */
static void gather(struct series *all, const struct part *part)
{
	for (size_t i = 0; i < part->count; i++) {
		const struct series *one = part->series[i];

		if (strcmp(one->name, all->name))
			continue;
		hist_merge(all->hist, one->hist);
		all->triggers += one->triggers;
		all->overflow += one->overflow;
		all->missing += one->missing;
		all->max = one->max > all->max ? one->max : all->max;
		all->min = one->min < all->min ? one->min : all->min;
	}
}

/* Of all CPUs and parts together; 0: there are too few values. */
static uint64_t value_of(const struct part *parts, size_t count, uint32_t above)
{
	const struct series *first = parts->series[0];
	struct series *all = malloc(series_size(first->hist->digits));
	struct percentile found;

	if (!all)
		error_no_memory();
	series_init(all, first->name, -1, first->hist->digits);
	for (size_t i = 0; i < count; i++)
		gather(all, &parts[i]);
	found = percentile_find(all, above);
	free(all);
	return found.known ? found.value_ns : 0;
}

void causes_overhead(const struct part *off, size_t count, const struct part *on)
{
	if (!causes.attribute)
		return;
	causes.overhead = (struct attribute_overhead){
		.on_p50_ns = value_of(on, 1, 500000), .off_p50_ns = value_of(off, count, 500000),
		.on_p99_ns = value_of(on, 1, 10000), .off_p99_ns = value_of(off, count, 10000),
	};
	causes.known = causes.overhead.on_p99_ns && causes.overhead.off_p99_ns;
}

void causes_text(FILE *out, bool colours)
{
	char times[4][TERM_TIME];

	if (!causes.attribute)
		return;
	if (causes.known)
		fprintf(out, "looking for causes: p50 %s with and %s without, p99 %s with and %s without\n",
			term_time(times[0], causes.overhead.on_p50_ns),
			term_time(times[1], causes.overhead.off_p50_ns),
			term_time(times[2], causes.overhead.on_p99_ns),
			term_time(times[3], causes.overhead.off_p99_ns));
	else
		fputs("looking for causes: its cost is not known, because there are too few values without it\n",
		      out);
	attribute_text(out, causes.attribute, SHOWN, colours);
}

bool causes_close(void)
{
	bool noted = causes.noted;

	attribute_close(causes.attribute);
	causes.attribute = NULL;
	causes.noted = false;
	if (!noted)
		return true;
	journal_close(&causes.journal);
	return undo_runs(causes.root);
}

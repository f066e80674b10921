// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "bpf/programs.h"
#include "noise.skel.h"

#define TYPES "/sys/kernel/btf/vmlinux"
#define TALLIES_EACH 2048U	/* of a CPU */
#define TALLIES_MOST 65536U

struct programs {
	struct noise *noise;
	struct ring_buffer *ring;
	struct { const struct bpf_program *program; struct bpf_link *link; } *links;
	size_t nr_links;
	int cpus;		/* that the machine may have */
	int measures;		/* -1: the kernel does not count runs now */
	bool measured;
	struct record_state *states;	/* of all CPUs: room to read them */
	char *notes;
	void (*take)(void *context, const struct record_loss *loss);
	void *context;
};

/* What is not told without a program; the other ones only say more. */
static const struct {
	const char *program, *or_program, *words;
} needed[] = {
	{ "irq_entry", NULL, "interrupts of devices (irq_handler_entry)" },
	{ "local_timer_begins", "ipi_begins", "interrupts of the processor's own (irq_vectors, ipi)" },
	{ "call_begins", NULL, "what another CPU's call does, and who sent it (csd_function_entry, from 6.4 on)" },
	{ "softirq_begins", NULL, "software interrupts (softirq_entry)" },
	{ "hrtimer_begins", NULL, "timers (hrtimer_expire_entry)" },
	{ "work_begins", NULL, "the functions of kworkers (workqueue_execute_start)" },
	{ "page_fault_user", NULL, "page faults (page_fault_user)" },
	{ "migrated", NULL, "migrations (sched_migrate_task)" },
	{ "waking", NULL, "who woke a thread (sched_waking)" },
	{ "ipi_sent", NULL, "who wanted another CPU to reschedule (ipi_send_cpu)" },
};

static char said[512];		/* the first that libbpf complained about */
static char verdict[256];	/* the first that the kernel's verifier did not like */

/* The last line of @log that is not about the log itself. */
static void keep_verdict(const char *log)
{
	static const char *const about[] = { "processed ", "verification time ", "stack depth ", "-- " };

	for (const char *line = log, *end; (end = strchr(line, '\n')); line = end + 1) {
		bool other = end == line;

		for (size_t i = 0; i < ARRAY_SIZE(about); i++)
			other |= !strncmp(line, about[i], strlen(about[i]));
		if (!other)
			snprintf(verdict, sizeof(verdict), "; %.*s", (int)(end - line), line);
	}
}

static int keep(enum libbpf_print_level level, const char *format, va_list arguments)
{
	const char *log;
	char *text;

	if (level != LIBBPF_WARN || vasprintf(&text, format, arguments) < 0)
		return 0;
	log = strstr(text, "-- BEGIN PROG LOAD LOG --");
	if (log && !*verdict)
		keep_verdict(log);
	else if (!*said)
		snprintf(said, sizeof(said), "%s", text);
	free(text);
	return 0;
}

/* Is there what @program is to be attached to? */
static bool possible(const struct btf *btf, const struct bpf_program *program)
{
	/* "tp_btf/EVENT" or "raw_tp/EVENT" */
	const char *section = bpf_program__section_name(program);
	char *type = text_format("btf_trace_%s", strchr(section, '/') + 1);
	bool found = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;

	free(type);
	return found;
}

static void choose(struct programs *programs, const struct btf *btf)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, programs->noise->obj)
		bpf_program__set_autoload(program, possible(btf, program));
}

static void set(struct programs *programs, const struct programs_wanted *wanted)
{
	struct noise__rodata *rodata = programs->noise->rodata;
	unsigned int most = 0;

	for (int cpu = -1; (cpu = cpulist_next(wanted->cpus, cpu)) >= 0; most += TALLIES_EACH)
		rodata->measured_cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
	rodata->threshold_ns = wanted->threshold_ns;
	rodata->of = wanted->of;
	rodata->want_stacks = wanted->stacks;
	bpf_map__set_max_entries(programs->noise->maps.ring, (unsigned int)wanted->ring_bytes);
	bpf_map__set_max_entries(programs->noise->maps.tallies,
				 most < TALLIES_MOST ? most : TALLIES_MOST);
}

/* Where a table is full all else is counted together: that place is made before. */
static int make_others(struct programs *programs, const struct cpulist *cpus)
{
	static const struct record_tally empty;

	for (int cpu = -1; (cpu = cpulist_next(cpus, cpu)) >= 0;)
		for (unsigned int type = 0; type < RECORD_TYPES; type++) {
			struct record_key key = { (unsigned int)cpu, type,
				{ RECORD_OTHERS, RECORD_OTHERS } };
			int error = bpf_map__update_elem(programs->noise->maps.tallies, &key,
							 sizeof(key), &empty, sizeof(empty), BPF_ANY);

			if (error)
				return -error;
		}
	return 0;
}

static bool attached(const struct programs *programs, const char *name)
{
	for (size_t i = 0; i < programs->nr_links; i++)
		if (!strcmp(bpf_program__name(programs->links[i].program), name))
			return true;
	return false;
}

/* Those that could be loaded; which could not be attached is noted.  0 or the errno. */
static int attach(struct programs *programs, FILE *notes)
{
	struct bpf_program *program;
	int error = 0;

	/* A link each, and none is added while they are counted. */
	bpf_object__for_each_program(program, programs->noise->obj) {
		struct bpf_link *link;

		if (!bpf_program__autoload(program))
			continue;
		link = bpf_program__attach(program);
		if (!link) {
			error = errno;
			fprintf(notes, "%s cannot be attached: %s\n",
				bpf_program__section_name(program), strerror(error));
			continue;
		}
		programs->links = array_room(programs->links, programs->nr_links,
					     sizeof(*programs->links));
		programs->links[programs->nr_links].program = program;
		programs->links[programs->nr_links++].link = link;
	}
	/* Without it nobody knows who runs. */
	if (attached(programs, "switched"))
		error = 0;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!attached(programs, needed[i].program) &&
		    !(needed[i].or_program && attached(programs, needed[i].or_program)))
			fprintf(notes, "this kernel does not tell %s\n", needed[i].words);
	return error;
}

static int take_loss(void *context, void *data, size_t size)
{
	struct programs *programs = context;
	struct record_loss loss = { 0 };

	/* Parts that there are none of were not sent. */
	memcpy(&loss, data, size < sizeof(loss) ? size : sizeof(loss));
	programs->take(programs->context, &loss);
	return 0;
}

static const char *words(int error)
{
	switch (error) {
	case EPERM:
		return "the kernel refuses BPF: be root, with CAP_BPF and CAP_PERFMON";
	case ENOSYS:
		return "this kernel has no BPF (CONFIG_BPF_SYSCALL)";
	default:
		return strerror(error);
	}
}

static struct programs *fail(struct programs *programs, char **why, int *error, int code,
			     const char *what)
{
	char *detail = text_trim(said);

	programs_close(programs);
	*error = code;
	*why = text_format("%s: %s%s%s%s%s", what, words(code), *detail ? " (" : "", detail, verdict,
			   *detail ? ")" : "");
	free(detail);
	return NULL;
}

struct programs *programs_open(const struct programs_wanted *wanted, char **why, int *error)
{
	struct programs *programs = calloc(1, sizeof(*programs));
	struct btf *btf;
	size_t size;
	FILE *notes;

	if (!programs)
		exit(error_say("no memory; free some"));
	programs->measures = -1;
	libbpf_set_print(keep);
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return fail(programs, why, error,
			    access(TYPES, R_OK) && errno == EACCES ? EPERM : ENOENT,
			    "the kernel does not describe its types (" TYPES ", CONFIG_DEBUG_INFO_BTF)");
	programs->noise = noise__open();
	programs->cpus = libbpf_num_possible_cpus();
	if (!programs->noise || programs->cpus < 1) {
		btf__free(btf);
		return fail(programs, why, error, programs->noise ? ENODATA : errno, "BPF programs");
	}
	choose(programs, btf);
	btf__free(btf);
	set(programs, wanted);
	*error = -noise__load(programs->noise);
	if (*error)
		return fail(programs, why, error, *error, "the programs cannot be loaded");
	*error = make_others(programs, wanted->cpus);
	if (*error)
		return fail(programs, why, error, *error, "the programs' table");
	programs->ring = ring_buffer__new(bpf_map__fd(programs->noise->maps.ring), take_loss,
					  programs, NULL);
	programs->states = calloc((size_t)programs->cpus, sizeof(*programs->states));
	if (!programs->ring || !programs->states)
		return fail(programs, why, error, ENOMEM, "the programs' ring");
	notes = text_open(&programs->notes, &size);
	*error = attach(programs, notes);
	fclose(notes);
	if (*error)
		return fail(programs, why, error, *error, "the programs cannot be attached");
	return programs;
}

void programs_count(struct programs *programs, bool on)
{
	programs->noise->bss->counting = on;
}

const char *programs_notes(const struct programs *programs)
{
	return *programs->notes ? programs->notes : NULL;
}

int programs_losses(struct programs *programs,
		    void (*take)(void *context, const struct record_loss *loss), void *context)
{
	int count;

	programs->take = take;
	programs->context = context;
	count = ring_buffer__consume(programs->ring);
	return count < 0 ? -count : 0;
}

int programs_tallies(struct programs *programs,
		     void (*take)(void *context, const struct record_key *key,
				  const struct record_tally *tally), void *context)
{
	const struct bpf_map *map = programs->noise->maps.tallies;
	struct record_key key, before;
	struct record_tally tally;
	bool first = true;
	int error;

	/* Nothing is ever removed from it, so that none comes twice. */
	while (!(error = -bpf_map__get_next_key(map, first ? NULL : &before, &key, sizeof(key)))) {
		if (!bpf_map__lookup_elem(map, &key, sizeof(key), &tally, sizeof(tally), 0))
			take(context, &key, &tally);
		before = key;
		first = false;
	}
	return error == ENOENT ? 0 : error;
}

bool programs_state(struct programs *programs, int cpu, struct record_state *state)
{
	const unsigned int zero = 0;

	if (cpu < 0 || cpu >= programs->cpus ||
	    bpf_map__lookup_elem(programs->noise->maps.states, &zero, sizeof(zero),
				 programs->states,
				 (size_t)programs->cpus * sizeof(*programs->states), 0))
		return false;
	*state = programs->states[cpu];
	return true;
}

size_t programs_stack(void *context, int number, uint64_t *calls, size_t most)
{
	const struct programs *programs = context;
	uint64_t stack[RECORD_STACK] = { 0 };
	size_t count = 0;

	if (bpf_map__lookup_elem(programs->noise->maps.stacks, &number, sizeof(number), stack,
				 sizeof(stack), 0))
		return 0;
	while (count < most && count < RECORD_STACK && stack[count]) {
		calls[count] = stack[count];
		count++;
	}
	return count;
}

void programs_measure(struct programs *programs, bool on)
{
	if (on && programs->measures < 0) {
		programs->measures = bpf_enable_stats(BPF_STATS_RUN_TIME);
		programs->measured |= programs->measures >= 0;
	} else if (!on && programs->measures >= 0) {
		close(programs->measures);
		programs->measures = -1;
	}
}

static bool notes_only(const char *program)
{
	static const char *const names[] = { "waking", "call_queued", "ipi_sent", "work_queued" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(program, names[i]))
			return true;
	return false;
}

struct programs_cost programs_cost(struct programs *programs)
{
	struct programs_cost cost = {
		.known = programs->measured,
		.without_stack = programs->noise->bss->without_stack,
	};
	struct bpf_program *program;

	bpf_object__for_each_program(program, programs->noise->obj) {
		struct bpf_prog_info info = { 0 };
		unsigned int size = sizeof(info);

		if (bpf_program__fd(program) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			continue;
		cost.runs += info.run_cnt;
		cost.run_ns += info.run_time_ns;
		if (notes_only(bpf_program__name(program)))
			cost.without_sender += info.recursion_misses;
		else
			cost.missed += info.recursion_misses;
	}
	return cost;
}

void programs_detach(struct programs *programs)
{
	programs_measure(programs, false);
	for (size_t i = 0; i < programs->nr_links; i++)
		bpf_link__destroy(programs->links[i].link);
	programs->nr_links = 0;
}

void programs_close(struct programs *programs)
{
	if (!programs)
		return;
	programs_detach(programs);
	ring_buffer__free(programs->ring);
	noise__destroy(programs->noise);
	free(programs->links);
	free(programs->states);
	free(programs->notes);
	free(programs);
}

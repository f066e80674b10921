// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <sys/utsname.h>

#include "base/term.h"
#include "proc/text.h"
#include "status/state.h"

static void put_head(FILE *out, const struct state_view *view)
{
	const struct proc_sample *now = &view->now->sample;
	struct utsname kernel = { 0 };

	uname(&kernel);
	fprintf(out, "%sisolator status%s  %s  allowed %s  isolated %s%s\n",
		term_style(view->colours, TERM_BOLD),
		term_style(view->colours, TERM_PLAIN), kernel.release,
		*now->allowed ? now->allowed : "none", *now->isolated ? now->isolated : "none",
		view->paused ? "  PAUSED" : "");
	fprintf(out, "%sq quits, p pauses, up and down or the digit of a CPU choose it%s\n",
		term_style(view->colours, TERM_DIM),
		term_style(view->colours, TERM_PLAIN));
}

/* One line a CPU: what a second brings, and what it has come to. */
static void put_cpu(FILE *out, const struct state_view *view, const struct proc_cpu *cpu)
{
	const struct proc_cpu *before = state_before(view, cpu);
	const struct proc_kind *longest = proc_longest(cpu);
	bool red = cpu->total.n[MISSED] || cpu->total.n[IMMEDIATE];
	double seconds = state_seconds(view);
	char time[TERM_TIME];
	struct counts since;

	fprintf(out, "%c %4d  %-10s", cpu->cpu == view->selected ? '>' : ' ', cpu->cpu,
		cpu->user == PROC_UNSAID ? "-" : cpu->user ? "user mode" : "the kernel");
	if (before)
		counts_since(&cpu->total, &before->total, &since);
	for (int i = 0; i < COUNTS; i++) {
		if (i != DEFERRED && i != EXCLUDED && i != QUEUED)
			continue;
		if (before)
			fprintf(out, " %10.1f", (double)since.n[i] / seconds);
		else
			fprintf(out, " %10s", "-");
	}
	fprintf(out, " %s%8" PRIu64 " %6" PRIu64 "%s %8s\n",
		term_style(view->colours && red, TERM_RED), cpu->total.n[MISSED],
		cpu->total.n[IMMEDIATE], term_style(view->colours && red, TERM_PLAIN),
		longest ? term_time(time, longest->longest_ns) : "-");
}

static void put_cpus(FILE *out, const struct state_view *view)
{
	const struct proc_sample *now = &view->now->sample;

	fprintf(out, "%s   CPU  in         deferred/s excluded/s     queued/s missed immediate  longest%s\n",
		term_style(view->colours, TERM_DIM),
		term_style(view->colours, TERM_PLAIN));
	for (size_t i = 0; i < now->nr_cpus; i++)
		if (state_shows(view, &now->cpus[i]))
			put_cpu(out, view, &now->cpus[i]);
}

static void put_all(FILE *out, const struct state_view *view)
{
	const struct proc_sample *now = &view->now->sample;
	const struct proc_cpu *selected = proc_cpu(now, view->selected);

	put_head(out, view);
	if (!selected) {
		proc_text_nothing(out, now, view->only);
		return;
	}
	put_cpus(out, view);
	fputc('\n', out);
	state_text_cpu(out, view, selected);
	proc_text_names(out, now, "status --live");
}

void state_screen(FILE *out, const struct state_view *view)
{
	state_fold(out, put_all, view);
}

int state_move(const struct state_view *view, int selected, int steps)
{
	const struct proc_sample *sample = &view->now->sample;
	int at = -1, last = -1;

	/* The rows of those shown; the kernel writes them in their order. */
	for (size_t i = 0; i < sample->nr_cpus; i++) {
		if (!state_shows(view, &sample->cpus[i]))
			continue;
		last++;
		if (at < 0 && sample->cpus[i].cpu >= selected)
			at = last;
	}
	if (last < 0)
		return -1;
	at = (at < 0 ? last : at) + steps;
	at = at < 0 ? 0 : at > last ? last : at;
	for (size_t i = 0; i < sample->nr_cpus; i++)
		if (state_shows(view, &sample->cpus[i]) && !at--)
			return sample->cpus[i].cpu;
	return -1;
}

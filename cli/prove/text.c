// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>

#include "base/setting.h"
#include "base/term.h"
#include "machine/cycles.h"
#include "machine/machine.h"
#include "proc/proc.h"
#include "proc/text.h"
#include "prove/prove.h"
#include "prove/verdict.h"

static void put_head(FILE *out, const struct prove_view *view)
{
	static const char *const hows[] = {
		[SPIN_FIFO] = "a thread of SCHED_FIFO",
		[SPIN_NICE] = "a thread of nice -20 (SCHED_FIFO is not allowed)",
		[SPIN_ORDINARY] = "an ordinary thread (this user may raise no priority)",
	};
	const struct spin *spin = view->watch->spin;
	char deadline[TERM_TIME], bound[TERM_TIME], budget[TERM_TIME];

	fprintf(out, "%sCPU %d%s, ", term_style(view->colours, TERM_BOLD), spin->cpu,
		term_style(view->colours, TERM_PLAIN));
	if (spin->how == SPIN_ISOLATED) {
		fprintf(out, "isolated; deadline %s, spin %s, yield %s\n",
			term_time(deadline, spin->deadline_ns),
			term_time(bound, spin->bound_ns), term_time(budget, spin->yield_ns));
		proc_text_shortfall(out, spin->mask, spin->got);
	} else {
		fprintf(out, "not isolated, %s: %s\n", view->plain ? "by --plain" :
			"as this kernel has no Isolator", hows[spin->how]);
	}
	if (!spin->locked)
		fputs("  not all of its memory is locked: memory reclaim may interrupt it (ulimit -l)\n", out);
	if (machine_is_virtual())
		fputs("  this is a virtual machine: pauses by the host are not counted\n", out);
	if (view->watch->early)
		fprintf(out, "  ended early, after %.3g of %.3g s\n", view->watch->seconds,
			(double)spin->window_ns / 1e9);
}

/* The classes that came in the window, or that would have. */
static void put_classes(FILE *out, const struct instrument *instrument)
{
	if (instrument->nr_tallies < 2)
		return;
	for (unsigned int i = 0; i < instrument->nr_tallies; i++) {
		const struct tally *tally = &instrument->tallies[i];
		uint64_t count = tally_since(tally, WINDOW_FROM);

		if (!count)
			continue;
		fprintf(out, "    %-18.18s %10s %10" PRIu64, tally->name, "", count);
		if (*tally->about) {
			fprintf(out, " %10s   ", "");
			term_put(out, tally->about);
		}
		fputc('\n', out);
	}
}

static void put_instrument(FILE *out, const struct prove_view *view,
			   const struct instrument *instrument)
{
	const struct spin *spin = view->watch->spin;
	enum instrument_state state = instrument_state(instrument, spin->ticks);
	bool red = instrument_saw(instrument, spin->ticks) ||
		(state == INSTRUMENT_DEAD && instrument->type->decides);

	if (state == INSTRUMENT_ABSENT) {
		fprintf(out, "  %-20s %10s %10s %10s   %s\n", instrument->type->name, "-", "-", "-",
			instrument->absent);
		return;
	}
	fprintf(out, "  %-20s %10" PRIu64 " %s%10" PRIu64 "%s %10" PRIu64 "   %s%s",
		instrument->type->name, instrument_since(instrument, BEFORE_FROM),
		term_style(view->colours && red, TERM_RED),
		instrument_since(instrument, WINDOW_FROM),
		term_style(view->colours && red, TERM_PLAIN),
		instrument_since(instrument, AFTER_FROM), instrument_states[state],
		state == INSTRUMENT_UNPROVEN ? ": a 0 proves nothing" : "");
	fprintf(out, "%s%s\n", *instrument->note ? "; " : "", instrument->note);
	put_classes(out, instrument);
}

/* A number of microseconds below /proc/sys/kernel; -1: there is none, or no limit. */
static long limit_us(const char *path)
{
	char *text = setting_read("/", path);
	long us = text ? strtol(text, NULL, 10) : -1;

	free(text);
	return us;
}

/* A FIFO thread that never sleeps is stopped for the rest of each period, by no interruption. */
static void put_limit(FILE *out, const struct spin *spin)
{
	long runtime_us = limit_us("/proc/sys/kernel/sched_rt_runtime_us");
	long rest_us = limit_us("/proc/sys/kernel/sched_rt_period_us") - runtime_us;
	char rest[TERM_TIME];

	if (spin->how != SPIN_FIFO || runtime_us < 0 || rest_us <= 0 ||
	    gaps_ns(&spin->scale, spin->gaps.longest) < 500 * (uint64_t)rest_us)
		return;
	fprintf(out, "  pauses of about %s come from this measurement: the kernel stops a FIFO thread that never sleeps (sched_rt_runtime_us), so that other tasks can run\n",
		term_time(rest, 1000 * (uint64_t)rest_us));
}

static void put_loop(FILE *out, const struct spin *spin)
{
	static const char *const names[GAPS_CLASSES] = {
		"1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms"
	};
	char least[TERM_TIME], longest[TERM_TIME], threshold[TERM_TIME];

	fprintf(out, "  loop: consecutive reads of the clock (" CYCLES_NAME ") are at least %s apart; longest pause %s; %" PRIu64 " over %s\n",
		term_time(least, gaps_ns(&spin->scale, spin->gaps.least)),
		term_time(longest, gaps_ns(&spin->scale, spin->gaps.longest)),
		spin->gaps.count, term_time(threshold, spin->threshold_ns));
	fputs("  pauses from", out);
	for (int i = 0; i < GAPS_CLASSES; i++)
		fprintf(out, "%s %s: %" PRIu64, i ? "," : "", names[i], spin->gaps.classes[i]);
	fputc('\n', out);
	put_limit(out, spin);
	if (spin->how == SPIN_ISOLATED)
		fprintf(out, "  ticks that the thread made because something was due: %" PRIu64 "\n", spin->ticks);
}

static void put_all(FILE *out, const struct prove_view *view)
{
	const struct spin *spin = view->watch->spin;
	enum verdict verdict = verdict_find(view->watch);
	char *words = verdict_words(view->watch);

	put_head(out, view);
	fprintf(out, "%s  %-20s %10s %10s %10s%s\n", term_style(view->colours, TERM_DIM), "",
		"before", "window", "after", term_style(view->colours, TERM_PLAIN));
	for (unsigned int i = 0; i < spin->nr_instruments; i++)
		put_instrument(out, view, &spin->instruments[i]);
	put_loop(out, spin);
	if (verdict == VERDICT_QUIET) {
		fputs("  shown to count before and after: ", out);
		verdict_witnesses(out, view->watch);
		fputc('\n', out);
	}
	fputs(term_style(view->colours, verdict == VERDICT_QUIET ? TERM_BOLD : TERM_RED), out);
	term_put(out, words);
	fprintf(out, "%s\n", term_style(view->colours, TERM_PLAIN));
	free(words);
}

void prove_text(FILE *out, const struct prove_view *view)
{
	struct term_folded folded;

	term_folded_open(&folded);
	put_all(folded.stream, view);
	term_folded_close(&folded, out);
}

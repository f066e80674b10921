// SPDX-License-Identifier: GPL-2.0-or-later
/* What isolator prove makes of what its instruments count, without a process. */
#include <stdlib.h>
#include <string.h>

#define ISOLATOR_NO_SHORT_NAMES
#include <isolator.h>

#include "base/array.h"
#include "base/setting.h"
#include "base/term.h"
#include "base/text.h"
#include "check.h"
#include "prove/prove.h"
#include "prove/verdict.h"

/* One tally that a test fills by hand. */
static void set(struct instrument *instrument, const struct instrument_type *type,
		uint64_t before, uint64_t window, uint64_t after)
{
	struct tally *tally;

	*instrument = (struct instrument){ .type = type };
	tally = instrument_tally(instrument, "it", "what it is");
	tally->count[BEFORE_TO] = before;
	tally->count[WINDOW_TO] = window;
	tally->count[AFTER_TO] = after;
}

static const struct instrument_type
decides = { .name = "decides", .decides = true, .provoked = true },
beside = { .name = "beside", .provoked = true },
mixes = { .name = "mixes", .decides = true, .provoked = true, .mixes = true },
unprovoked = { .name = "unprovoked" };

static void states(void)
{
	struct instrument instrument;

	set(&instrument, &decides, 1, 0, 1);
	CHECK(instrument_state(&instrument, 0) == INSTRUMENT_COUNTS);
	CHECK(!instrument_saw(&instrument, 0));
	set(&instrument, &decides, 0, 5, 1);
	CHECK(instrument_state(&instrument, 0) == INSTRUMENT_DEAD);
	set(&instrument, &decides, 1, 5, 0);
	CHECK(instrument_state(&instrument, 0) == INSTRUMENT_DEAD);
	CHECK(!instrument_saw(&instrument, 0));
	set(&instrument, &mixes, 1, 5, 1);
	CHECK(instrument_saw(&instrument, 0) && !instrument_saw(&instrument, 1));
	CHECK(instrument_state(&instrument, 1) == INSTRUMENT_BLIND);
	set(&instrument, &decides, 1, 5, 1);
	CHECK(instrument_saw(&instrument, 1));
	instrument.aside = true;
	CHECK(!instrument_saw(&instrument, 0));
	set(&instrument, &unprovoked, 0, 0, 0);
	CHECK(instrument_state(&instrument, 0) == INSTRUMENT_UNPROVEN);
	CHECK(!instrument_saw(&instrument, 0));
	set(&instrument, &unprovoked, 0, 1, 0);
	CHECK(instrument_saw(&instrument, 0));
	instrument_absent(&instrument, "it is %s", "gone");
	CHECK(instrument_state(&instrument, 0) == INSTRUMENT_ABSENT);
	CHECK(!instrument_saw(&instrument, 0));
}

static void own(void)
{
	struct instrument instrument;

	set(&instrument, &decides, 1, 5, 1);
	instrument.tallies->count[TICK_FROM] = 2;
	instrument.tallies->count[TICK_TO] = 5;
	instrument_own(&instrument);
	CHECK(instrument_since(&instrument, WINDOW_FROM) == 2);
	CHECK(instrument_since(&instrument, BEFORE_FROM) == 1);
	instrument_own(&instrument);
	CHECK(instrument_since(&instrument, WINDOW_FROM) == 0);
	instrument.tallies->own = 0;
	instrument.slack = 4;
	CHECK(instrument_since(&instrument, WINDOW_FROM) == 5);
	instrument.slack = 5;
	CHECK(instrument_since(&instrument, WINDOW_FROM) == 0);
}

/* From a copy, as the text is written to. */
static bool take(struct instrument *instrument, enum point point, const char *text, int whose)
{
	char *copy = strdup(text);
	bool taken = copy && instrument_take_irqs(instrument, point, copy, whose);

	free(copy);
	return taken;
}

static void classes(void)
{
	static const char from[] =
		"           CPU0       CPU1       CPU3       \n"
		"  5:         10         11         13  IO-APIC   5-edge      ttyS0\n"
		" 60:          1          1          7  PCI-MSI 9-edge  nvme0q1, nvme0q2\n"
		"LOC:        100        101        103   Local timer interrupts\n"
		"  7:          8          4-edge    pins\n"
		"ERR:          9\n"
		"IPI0:         1          2 4294967295       Rescheduling interrupts\n"
		"  HI:         0          0          0\n";
	static const char to[] =
		"           CPU0       CPU1       CPU3       \n"
		"  5:         10         11         13  IO-APIC   5-edge      ttyS0\n"
		"LOC:        100        101        113   Local timer interrupts\n"
		"ERR:         19\n"
		"IPI0:         1          2          1       Rescheduling interrupts\n"
		"  HI:         0          0          2\n";
	struct instrument instrument = { .type = &instrument_interrupts };
	struct tally *tally = instrument.tallies;

	CHECK(!take(&instrument, WINDOW_FROM, from, 2));
	CHECK(take(&instrument, WINDOW_FROM, from, 3));
	CHECK(take(&instrument, WINDOW_TO, to, 3));
	CHECK(instrument.nr_tallies == 5);
	CHECK_TEXT(tally[0].name, "irq 5");
	CHECK_TEXT(tally[0].about, "ttyS0");
	CHECK_TEXT(tally[1].about, "nvme0q1, nvme0q2");
	CHECK_TEXT(tally[2].name, "LOC");
	CHECK_TEXT(tally[3].about, "Rescheduling interrupts");
	CHECK_TEXT(tally[4].about, "");
	CHECK(!tally_since(&tally[1], WINDOW_FROM));
	CHECK(tally_since(&tally[2], WINDOW_FROM) == 10);
	CHECK(tally_since(&tally[3], WINDOW_FROM) == 2);
	CHECK(instrument_since(&instrument, WINDOW_FROM) == 14);
	/* A device that has come back with its number is no count that wrapped. */
	instrument = (struct instrument){ .type = &instrument_interrupts };
	CHECK(take(&instrument, WINDOW_FROM, "CPU3\n60: 900 PCI-MSI nvme0q1\n", 3));
	CHECK(take(&instrument, WINDOW_TO, "CPU3\n60: 2 PCI-MSI nvme0q1\n", 3));
	CHECK(instrument_since(&instrument, WINDOW_FROM) == 2);
	/* One number is no CPU's, also not the first one's, and "4-edge" is none. */
	for (int whose = 0; whose < 2; whose++) {
		instrument = (struct instrument){ .type = &instrument_interrupts };
		CHECK(take(&instrument, WINDOW_FROM, from, whose));
		CHECK(instrument.nr_tallies == 4);
	}
	instrument = (struct instrument){ .type = &instrument_softirqs };
	CHECK(take(&instrument, WINDOW_FROM, "CPU0 CPU1\nRCU: 0 2\n", 1));
	CHECK_TEXT(tally->name, "RCU");
	CHECK_TEXT(tally->about, "softirq");
}

static void too_many_classes(void)
{
	struct instrument instrument = { .type = &instrument_interrupts };
	char *text;
	size_t size;

	for (enum point point = WINDOW_FROM; point <= WINDOW_TO; point++) {
		FILE *out = open_memstream(&text, &size);

		fputs("CPU0 CPU1\n", out);
		for (int i = 0; i < 2 * INSTRUMENT_TALLIES; i++)
			fprintf(out, "%d: 0 %d chip\n", i, 5 + (int)point);
		fclose(out);
		CHECK(instrument_take_irqs(&instrument, point, text, 1));
		free(text);
	}
	CHECK(instrument.nr_tallies == INSTRUMENT_TALLIES);
	CHECK_TEXT(instrument.tallies[INSTRUMENT_TALLIES - 1].name, "others");
	CHECK(instrument_since(&instrument, WINDOW_FROM) == 2 * INSTRUMENT_TALLIES);
}

static void pauses(void)
{
	struct gaps_scale scale;
	struct gaps gaps = { 0 };

	gaps_scale_set(&scale, 2.0, 10000);
	gaps_look(&gaps, &scale, 100, 120);
	gaps_look(&gaps, &scale, 120, 119);
	CHECK(gaps.least == 20 && gaps.longest == 20 && !gaps.count);
	gaps_look(&gaps, &scale, 0, 2000);
	gaps_look(&gaps, &scale, 0, 20000);
	CHECK(gaps.classes[0] == 1 && gaps.classes[1] == 1 && !gaps.count);
	gaps_look(&gaps, &scale, 0, 20001);
	gaps_look(&gaps, &scale, 0, 2000000000);
	CHECK(gaps.classes[1] == 2 && gaps.classes[5] == 1 && gaps.count == 2);
	CHECK(gaps_ns(&scale, gaps.longest) == 1000000000);
	CHECK(gaps_ns(&scale, 1) == 1 && !gaps_ns(&scale, 0));
	/* Finer than the classes. */
	gaps_scale_set(&scale, 2.0, 500);
	gaps_look(&gaps, &scale, 0, 1001);
	CHECK(gaps.count == 3 && gaps.classes[0] == 1);
}

/* The verdict on @count instruments of a run without a process. */
static enum verdict judge(const struct instrument *list, unsigned int count, uint64_t ticks,
			  uint32_t end, const char *wanted)
{
	struct spin *spin = calloc(1, sizeof(*spin));
	struct watch watch = { .spin = spin, .seconds = 1 };
	enum verdict verdict;
	char *words, *witnesses;
	size_t size;
	FILE *out;

	if (!spin)
		abort();
	spin->cpu = 3;
	spin->ticks = ticks;
	spin->end = end;
	spin->nr_instruments = count;
	memcpy(spin->instruments, list, count * sizeof(*list));
	verdict = verdict_find(&watch);
	words = verdict_words(&watch);
	CHECK(end || strlen(words) <= 100);
	out = text_open(&witnesses, &size);
	verdict_witnesses(out, &watch);
	fclose(out);
	if (verdict == VERDICT_QUIET) {
		free(words);
		words = text_format("%s: %s", verdict_names[verdict], witnesses);
	}
	free(witnesses);
	if (!strstr(words, wanted))
		printf("# \"%s\" does not say \"%s\"\n", words, wanted);
	CHECK(strstr(words, wanted));
	CHECK(!strncmp(words, verdict_names[verdict], strlen(verdict_names[verdict])));
	free(words);
	free(spin);
	return verdict;
}

static void verdicts(void)
{
	struct instrument two[2], many[INSTRUMENTS_MAX];

	set(&two[0], &decides, 1, 0, 1);
	set(&two[1], &beside, 1, 0, 1);
	CHECK(judge(two, 2, 0, 0, "decides, beside") == VERDICT_QUIET);
	CHECK(judge(two, 2, 0, ISOLATOR_END_ADMIN, "isolation ended") == VERDICT_NOT_QUIET);
	set(&two[1], &beside, 1, 7, 1);
	CHECK(judge(two, 2, 0, 0, "7 it (what it is)") == VERDICT_NOT_QUIET);
	/* However much came, the verdict is one line. */
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		set(&many[i], &decides, 1, 1000000 + i, 1);
	CHECK(judge(many, ARRAY_SIZE(many), 0, 0, ", and more") == VERDICT_NOT_QUIET);
	/* One beside that does not count is not used, whatever it says. */
	set(&two[1], &beside, 0, 7, 1);
	CHECK(judge(two, 2, 0, 0, "quiet: decides") == VERDICT_QUIET);
	/* One that decides and does not count leaves no proof beside another. */
	set(&two[1], &decides, 0, 0, 0);
	CHECK(judge(two, 2, 0, 0, "decides does not count") == VERDICT_INCONCLUSIVE);
	set(&two[0], &beside, 1, 0, 1);
	CHECK(judge(two, 1, 0, 0, "nothing here can count") == VERDICT_SKIPPED);
	set(&two[0], &unprovoked, 0, 0, 0);
	CHECK(judge(two, 1, 0, 0, "nothing here can count") == VERDICT_SKIPPED);
	set(&two[0], &mixes, 1, 9, 1);
	CHECK(judge(two, 1, 1, 0, "tells the task's own ticks") == VERDICT_INCONCLUSIVE);
	instrument_absent(&two[0], "it is gone");
	CHECK(judge(two, 1, 0, 0, "nothing here can count") == VERDICT_SKIPPED);
	CHECK(verdict_exit(VERDICT_QUIET) == 0 && verdict_exit(VERDICT_NOT_QUIET) == 2);
	CHECK(verdict_exit(VERDICT_INCONCLUSIVE) == 3 && verdict_exit(VERDICT_SKIPPED) == 77);
}

/* What is printed of a run with a pause of @longest_ns, to be freed. */
static char *printed(enum spin_how how, uint64_t longest_ns)
{
	struct spin *spin = calloc(1, sizeof(*spin));
	struct watch watch = { .spin = spin, .seconds = 1 };
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	if (!spin)
		abort();
	spin->how = how;
	gaps_scale_set(&spin->scale, 1, 10000);
	gaps_look(&spin->gaps, &spin->scale, 0, longest_ns);
	prove_text(out, &(struct prove_view){ .watch = &watch });
	fclose(out);
	free(spin);
	return text;
}

/* The report names a pause that the kernel makes because of the measurement itself. */
static void throttled(void)
{
	static const struct {
		enum spin_how how;
		uint64_t longest_ns;
		bool told;
	} runs[] = {
		{ SPIN_FIFO, 54000000, true }, { SPIN_FIFO, 10000, false },
		{ SPIN_NICE, 54000000, false },
	};
	char *runtime = setting_read("/", "/proc/sys/kernel/sched_rt_runtime_us");
	bool limited = runtime && !strcmp(runtime, "950000\n");

	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		char *text = printed(runs[i].how, runs[i].longest_ns);

		CHECK(!strstr(text, "come from this measurement") == !(runs[i].told && limited));
		CHECK(strstr(text, "consecutive reads of the clock"));
		for (char *line, *next = text; (line = strsep(&next, "\n"));)
			CHECK(strlen(line) <= TERM_COLUMNS);
		free(text);
	}
	free(runtime);
}

static const struct test tests[] = {
	{ "states of an instrument", states },
	{ "what is the task's own", own },
	{ "classes of interrupts", classes },
	{ "more classes than there is room for", too_many_classes },
	{ "pauses", pauses },
	{ "verdicts", verdicts },
	{ "a pause of the kernel's own limit", throttled },
};

int main(void)
{
	return check_run(tests, ARRAY_SIZE(tests));
}

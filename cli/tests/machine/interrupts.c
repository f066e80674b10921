// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/interrupts and /proc/softirqs: rows, columns, counts that wrap or begin anew. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "check.h"
#include "machine/look.h"

#define HEAD "           CPU0       CPU1       CPU3\n"

static struct interrupts parsed(const char *text, const struct cpulist *cpus)
{
	struct interrupts interrupts;
	char *copy = text_format("%s", text);

	interrupts_parse(&interrupts, copy, cpus);
	free(copy);
	return interrupts;
}

static const struct cpulist all = { 0 };

static void rows(void)
{
	static const struct {
		const char *label, *class, *what;
		uint64_t count;
	} want[] = {
		{ "0", "device", "IO-APIC 2-edge timer", 34 },
		{ "24", "device", "PCI-MSIX-0000:00:01.0 0-edge nvme0q0", 6 },
		{ "LOC", "timer", "Local timer interrupts", UINT64_C(3) * UINT32_MAX },
		{ "11", "timer", "GICv3 27 Level arch_timer", 6 },
		{ "23", "nmi", "GICv3 23 Level arm-pmu", 1 },
		{ "12", "timer", "GICv3 26 Level kvm guest vtimer", 1 },
		{ "IPI0", "resched", "Rescheduling interrupts", 9 },
		{ "IPI1", "call", "Function call interrupts", 3 },
		{ "IPI4", "timer", "Timer broadcast interrupts", 0 },
		{ "IPI5", "work", "IRQ work interrupts", 0 },
		{ "IPI6", "other", "CPU backtrace interrupts", 0 },
		{ "24;id", "other", "no interrupt", 1 },
		{ "MCP", "machine-check", "Machine check polls", 3 },
		{ "NET_RX", "other", "", 3 },
	};
	struct interrupts have = parsed(
		HEAD
		"  0:         34          0          0  IO-APIC   2-edge      timer\n"
		" 24:          1          2          3  PCI-MSIX-0000:00:01.0   0-edge      nvme0q0\n"
		"LOC: 4294967295 4294967295 4294967295   Local timer interrupts\n"
		" 11:          1          2          3     GICv3  27 Level     arch_timer\n"
		" 23:          1          0          0     GICv3  23 Level     arm-pmu\n"
		" 12:          1          0          0     GICv3  26 Level     kvm guest vtimer\n"
		"IPI0:         2          3          4       Rescheduling interrupts\n"
		"IPI1:         1          1          1       Function call interrupts\n"
		"IPI4:         0          0          0       Timer broadcast interrupts\n"
		"IPI5:         0          0          0       IRQ work interrupts\n"
		"IPI6:         0          0          0       CPU backtrace interrupts\n"
		"24;id:        1          0          0  no interrupt\n"
		"MCP:          1          1          1   Machine check polls\n"
		"ERR:          7\n"
		"MIS:          0\n"
		"      NET_RX:          1          1          1\n"
		"no colon\n", &all);

	CHECK(have.known && have.columns == 3 && have.cpus[2] == 3);
	CHECK(have.count == ARRAY_SIZE(want));
	for (size_t i = 0; i < have.count && i < ARRAY_SIZE(want); i++) {
		CHECK_TEXT(have.rows[i].label, want[i].label);
		CHECK_TEXT(have.rows[i].class, want[i].class);
		CHECK_TEXT(have.rows[i].what, want[i].what);
		CHECK(have.rows[i].count == want[i].count);
	}
	CHECK(have.count > 1 && have.rows[1].of[0] == 1 && have.rows[1].of[2] == 3);
	interrupts_free(&have);
}

/* What is no CPU's is none with one CPU either, where its row looks like any other. */
static void one_cpu(void)
{
	struct interrupts have = parsed("  CPU0\n LOC: 5 Local timer interrupts\nERR: 7\nErr: 8\n",
					&all);

	CHECK(have.count == 1 && have.rows[0].count == 5);
	interrupts_free(&have);
}

static void some_cpus(void)
{
	struct cpulist cpus = { 0 };
	struct interrupts have;

	cpulist_add(&cpus, 1);
	cpulist_add(&cpus, 2);
	have = parsed(HEAD " 24: 1 2 4 x\n", &cpus);
	CHECK(have.columns == 1 && have.cpus[0] == 1 && have.rows[0].count == 2);
	interrupts_free(&have);
	cpulist_parse("2", &cpus);
	have = parsed(HEAD " 24: 1 2 4 x\n", &cpus);
	CHECK(!have.known && !have.count);
	interrupts_free(&have);
}

/* No text does harm. */
static void strange(void)
{
	static const char *const texts[] = {
		"", "\n", "CPU", "CPU99999999999999999999 CPU-1 CPU8192\n 1: 1 2 3\n", "CPU0\n1:",
		"CPU0\n:\n", "CPU0 CPU1\n1: 99999999999999999999999 1\n", "CPU0\n\n 1: -1\n",
		"CPU1 CPU0 CPU1\n1: 1 2 3\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct interrupts have = parsed(texts[i], &all), again = parsed(texts[i], &all);
		struct interrupts came;

		for (size_t k = 0; k < have.columns; k++)
			CHECK(have.cpus[k] >= 0 && have.cpus[k] < CPULIST_MAX);
		interrupts_between(&came, &again, &have, INTERRUPTS_MOST);
		CHECK(!interrupts_sum(&came));
		interrupts_free(&came);
		interrupts_free(&have);
		interrupts_free(&again);
	}
}

/* What came to the row 24 of each CPU, and how it began, as text. */
static const char *came(const char *before_text, const char *now_text, uint64_t most)
{
	static const char *const begins[] = { "", " appeared", " anew" };
	static char text[100];
	struct interrupts before = parsed(before_text, &all), now = parsed(now_text, &all), came;
	const struct interrupt *row;

	interrupts_between(&came, &before, &now, most);
	CHECK(came.known && came.columns == now.columns);
	row = interrupts_find(&came, "24", 7);
	CHECK(row && row->count == row->of[0] + row->of[1] + (now.columns > 2 ? row->of[2] : 0));
	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, row->of[0], row->of[1]);
	if (now.columns > 2)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %" PRIu64, row->of[2]);
	strcat(text, begins[row->begin]);
	interrupts_free(&came);
	interrupts_free(&before);
	interrupts_free(&now);
	return text;
}

static void between(void)
{
	static const struct {
		const char *before, *now, *came;
	} cases[] = {
		{ HEAD "24: 1 2 3 x\n", HEAD "24: 1 7 4 x\n", "0 5 1" },
		/* The second one wrapped. */
		{ HEAD "24: 1 4294967290 3 x\n", HEAD "24: 2 4 3 x\n", "1 10 0" },
		/* It wrapped after more than can have come, so it is another device. */
		{ HEAD "24: 1 4294960000 3 x\n", HEAD "24: 2 4 4 x\n", "2 4 4 anew" },
		{ HEAD "24: 9 9 9 x\n", HEAD "24: 0 1 20 x\n", "0 1 20 anew" },
		/* A number of more than 32 bits does not wrap there. */
		{ HEAD "24: 1 4294967297 3 x\n", HEAD "24: 1 4294967296 3 x\n",
		  "1 4294967296 3 anew" },
		{ HEAD "24: 1 8589934590 3 x\n", HEAD "24: 1 3 3 x\n", "1 3 3 anew" },
		{ HEAD "25: 1 2 3 x\n", HEAD "24: 1 2 3 x\n", "1 2 3 appeared" },
		/* CPU 1 came online: what it had counted before is not of this time. */
		{ "CPU0 CPU3\n24: 5 5 x\n", HEAD "24: 6 900 7 x\n", "1 0 2" },
		{ "CPU0 CPU3\n25: 5 5 x\n", HEAD "24: 6 900 7 x\n", "6 0 7 appeared" },
		/* CPU 1 went. */
		{ HEAD "24: 5 900 5 x\n", "CPU0 CPU3\n24: 6 8 x\n", "1 3" },
		/* Another one in its place. */
		{ "CPU0 CPU1 CPU2\n24: 5 900 5 x\n", HEAD "24: 6 901 8 x\n", "1 1 0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_TEXT(came(cases[i].before, cases[i].now, 1000), cases[i].came);
}

static struct look look_at(const char *interrupts, const char *softirqs, double seconds)
{
	return (struct look){
		.taken_ns = (uint64_t)(seconds * 1e9),
		.lists = { parsed(interrupts, &all), parsed(softirqs, &all) },
	};
}

/* The same of two looks: all rows, those that are gone, and the CPUs that came and went. */
static void since(void)
{
	struct look before = look_at("CPU0 CPU1\n24: 4294967295 1 x\n25: 3 3 y\n26: 900 0 z\n",
				     "CPU0 CPU1\nRCU: 1 1\n", 1);
	struct look now = look_at("CPU0 CPU3\n26: 5 7 z\n24: 2 1 x\n27: 1 5 new\n", "", 1.0001);
	struct since since;
	struct interrupts *came = &since.lists[LOOK_INTERRUPTS];

	CHECK(look_seconds(&before, &now) > 0.00009 && look_seconds(&before, &now) < 0.00011);
	since_make(&since, &before, &now, look_seconds(&before, &now));
	CHECK(came->known && came->count == 3 && !since.lists[LOOK_SOFTIRQS].known);
	/* It would have wrapped only by more than can come in so short a time. */
	CHECK_TEXT(came->rows[0].label, "26");
	CHECK(came->rows[0].count == 5 && came->rows[0].begin == INTERRUPT_ANEW);
	CHECK_TEXT(came->rows[1].label, "24");
	CHECK(came->rows[1].count == 3 && came->rows[1].begin == INTERRUPT_GOES_ON);
	CHECK_TEXT(came->rows[2].label, "27");
	CHECK(came->rows[2].count == 1 && came->rows[2].begin == INTERRUPT_APPEARED);
	CHECK(interrupts_sum(came) == 9);
	CHECK(since.nr_gone == 1);
	CHECK_TEXT(since.gone[0], "25");
	CHECK(cpulist_next(&since.both, -1) == 0 && cpulist_next(&since.both, 0) < 0);
	CHECK(cpulist_next(&since.came, -1) == 3 && cpulist_next(&since.left, -1) == 1);
	since_free(&since);
	look_free(&before);
	look_free(&now);
}

static const struct test tests[] = {
	{ "rows and their classes", rows },
	{ "one CPU", one_cpu },
	{ "some CPUs", some_cpus },
	{ "strange texts", strange },
	{ "between two looks", between },
	{ "since a look", since },
};

int main(void)
{
	return check_run(tests, ARRAY_SIZE(tests));
}
